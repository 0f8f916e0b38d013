// The download menu of each chart, a details.chart-menu: button[data-picture="svg" or "png"] saves the chart as it is, with
// its title and legend, in the light theme. The menu closes on Escape and on a press outside of it.

import { paint } from "./chart-paint.js";

const MIN_WIDTH = 900;
const RATIO = 0.6;
const SCALES = { svg: 1, png: 2 };
const MARGIN = { l: 70, r: 30, t: 60, b: 70 };
const COPIED_RANGES = ["xaxis", "yaxis"];

const slug = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "");
const titleOf = (section) => document.getElementById(section.getAttribute("aria-labelledby")).textContent.trim();

/** Returns the figure of a picture: what the chart shows now, on white, with a title and the visible lines' names. */
function pictureOf(chart, title) {
  const { data, layout } = paint({ data: chart.plot.data, layout: structuredClone(chart.figure.layout) }, "light");
  const isListed = ({ meta, showlegend }) => (layout.meta?.readout ? Boolean(meta?.label) : showlegend !== false);
  for (const name of COPIED_RANGES) {
    const { range, type } = chart.plot._fullLayout[name];
    layout[name] = { ...layout[name], type, range: [...range], autorange: false };
  }
  return {
    data: data.map((trace) => ({ ...trace, showlegend: isListed(trace) && trace.visible !== false })),
    layout: {
      ...layout,
      title: { text: title, x: 0.02, xanchor: "left", font: { size: 16 } },
      font: { ...layout.font, size: 13 },
      showlegend: true,
      legend: { orientation: "h", y: -0.18, yanchor: "top", x: 0, xanchor: "left" },
      margin: { ...MARGIN, r: Math.max(MARGIN.r, layout.margin?.r ?? 0) },
      paper_bgcolor: "#ffffff",
      plot_bgcolor: "#ffffff",
    },
  };
}

async function save(section, format) {
  const chart = section.querySelector("live-chart");
  if (!chart.figure) return;
  const { clientWidth, clientHeight } = chart.plot;
  const width = Math.max(MIN_WIDTH, clientWidth);
  const height = Math.round(Math.max(width * RATIO, clientHeight));
  const figure = pictureOf(chart, titleOf(section));
  const address = await Plotly.toImage(figure, { format, width, height, scale: SCALES[format] });
  const names = [document.querySelector("h1")?.textContent ?? "", section.id.replace(/^chart-/, "")];
  await download(address, `${names.map(slug).filter(Boolean).join("-")}.${format}`);
}

async function download(address, name) {
  const [head, body] = address.split(/,(.*)/s);
  const isText = !head.endsWith(";base64");
  const bytes = isText ? decodeURIComponent(body) : Uint8Array.from(atob(body), (letter) => letter.charCodeAt(0));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([bytes], { type: head.slice(5).split(";")[0] }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href));
}

function close(menu) {
  if (menu.contains(document.activeElement)) menu.querySelector("summary").focus();
  menu.open = false;
}

const openMenus = () => document.querySelectorAll("details.chart-menu[open]");

document.addEventListener("click", ({ target }) => {
  for (const menu of openMenus()) if (!menu.contains(target)) menu.open = false;
  const item = target.closest(".chart-menu button, .chart-menu a");
  if (!item) return;
  if (item.dataset.picture) save(item.closest(".chart"), item.dataset.picture);
  close(item.closest(".chart-menu"));
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of openMenus()) close(menu);
});
