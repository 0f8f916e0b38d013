// <chart-layout>: lets a user pin, resize, move and remove the charts of its grids (.charts), by the tools of each chart
// (includes/chart_tools.html) or by dragging a heading.

import { arrange, positionsOf, SIZES } from "./chart-cards.js";
import { watchDrags } from "./chart-drag.js";
import { layoutStore } from "./chart-layout-store.js";
import { setTabStop } from "./toolbar-keys.js";

const SIZE_NAMES = { small: gettext("small"), medium: gettext("medium"), wide: gettext("wide") };

const toolsOf = (chart) => chart.querySelector(":scope > .chart-head .chart-tools");
const titleOf = (chart) => chart.querySelector(".chart-head :is(h2, h3, h4)").textContent.trim();
const isPinned = (chart) => toolsOf(chart).querySelector("[data-tool=pin]").ariaPressed === "true";
/** Returns the place of a chart in the default order of its grid, from 1. */
const numberOf = (chart) => Number(toolsOf(chart).dataset.defaultPosition);
/** Returns the charts of a grid that have tools, in their present order. */
const chartsOf = (grid) => [...grid.children].filter((child) => child.matches(".chart") && toolsOf(child));

/** Moves a chart before another one, or to the end. */
function moveChart(chart, next, grid) {
  if (next === chart || chart.nextElementSibling === next) return;
  // A chart that moves leaves the document for a moment. Without `figure`, it keeps its plot then and draws itself again.
  for (const live of chart.querySelectorAll("live-chart")) live.figure = undefined;
  if (grid.moveBefore) grid.moveBefore(chart, next);
  else grid.insertBefore(chart, next);
}

class ChartLayout extends HTMLElement {
  connectedCallback() {
    this.bar = this.querySelector(".chart-layout-bar");
    if (!this.bar) return;
    this.store = layoutStore(this.bar, (problem) => this.report(problem));
    this.cards = this.store.cards;
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.addEventListener("click", (event) => this.onClick(event), { signal });
    this.addEventListener("submit", (event) => this.onSubmit(event), { signal });
    this.addEventListener("htmx:afterSettle", () => this.show(), { signal });
    this.store.listen(signal);
    const accepts = (chart, other) => toolsOf(other) && isPinned(chart) === isPinned(other);
    watchDrags(this, accepts, (...drop) => this.onDrop(...drop), signal);
    this.show();
  }

  disconnectedCallback() {
    this.stop?.abort();
    this.store?.flush();
  }

  get grids() {
    return this.querySelectorAll(".charts");
  }

  onClick({ target }) {
    const button = target.closest("button[data-tool]");
    const chart = button?.closest(".chart");
    if (!chart) return;
    const actions = { pin: "pin", size: "resize", earlier: "moveEarlier", later: "moveLater", remove: "removeChart" };
    this[actions[button.dataset.tool]](chart, chart.parentElement);
    if (!button.isConnected) return;
    if (document.activeElement !== button) button.focus({ preventScroll: true });
    chart.scrollIntoView({ block: "nearest" });
  }

  pin(chart, grid) {
    const wasPinned = isPinned(chart);
    const others = chartsOf(grid).filter((other) => other !== chart);
    toolsOf(chart).querySelector("[data-tool=pin]").ariaPressed = String(!wasPinned);
    // A pinned chart becomes the last pinned one; an unpinned chart goes back to its place in the default order.
    const isAfter = (other) => !isPinned(other) && (!wasPinned || numberOf(other) > numberOf(chart));
    moveChart(chart, others.find(isAfter) ?? null, grid);
    this.change(grid, this.positionText(chart, wasPinned ? gettext("%(title)s unpinned, position %(position)s of %(count)s")
      : gettext("%(title)s pinned, position %(position)s of %(count)s")));
  }

  resize(chart, grid) {
    const { dataset } = chart;
    dataset.size = SIZES[(SIZES.indexOf(dataset.size) + 1) % SIZES.length];
    this.change(grid, interpolate(gettext("%(title)s is %(size)s"), { title: titleOf(chart), size: SIZE_NAMES[dataset.size] }, true));
  }

  moveEarlier(chart, grid) {
    const before = this.neighbours(chart, grid).before;
    if (before) moveChart(chart, before, grid);
    this.change(grid, this.positionText(chart), chart);
  }

  moveLater(chart, grid) {
    const after = this.neighbours(chart, grid).after;
    if (after) moveChart(chart, after.nextElementSibling, grid);
    this.change(grid, this.positionText(chart), chart);
  }

  onDrop(chart, other, isBefore) {
    moveChart(chart, isBefore ? other : other.nextElementSibling, chart.parentElement);
    this.change(chart.parentElement, this.positionText(chart), chart);
  }

  removeChart(chart, grid) {
    const charts = chartsOf(grid);
    const next = charts[charts.indexOf(chart) + 1] ?? charts.at(-2);
    this.cards.delete(toolsOf(chart).dataset.chartCode);
    chart.remove();
    (next ? toolsOf(next).querySelector("button[data-stop]") : this.bar.querySelector("summary")).focus();
    this.change(grid, interpolate(gettext("%(title)s removed"), { title: titleOf(chart) }, true));
  }

  /** Returns the charts between which a chart can move: visible ones, pinned like it. */
  neighbours(chart, grid) {
    const charts = chartsOf(grid).filter((other) => other === chart || (!other.hidden && isPinned(other) === isPinned(chart)));
    const at = charts.indexOf(chart);
    return { before: charts[at - 1], after: charts[at + 1] };
  }

  positionText(chart, text = gettext("%(title)s moved to position %(position)s of %(count)s")) {
    const charts = chartsOf(chart.parentElement);
    return interpolate(text, { title: titleOf(chart), position: charts.indexOf(chart) + 1, count: charts.length }, true);
  }

  /** Reads the cards of a grid from its charts, one of which was moved if `changed` is given. Shows, announces and stores
   * the layout. */
  change(grid, announcement, changed) {
    const charts = chartsOf(grid);
    const unpinned = charts.filter((chart) => !isPinned(chart));
    const isMoved = (chart) => chart === changed || this.cards.get(toolsOf(chart).dataset.chartCode)?.position;
    const positions = positionsOf(unpinned.map(numberOf), new Set(unpinned.filter(isMoved).map(numberOf)));
    for (const chart of charts) {
      const { chartCode, defaultSize } = toolsOf(chart).dataset;
      const { size } = chart.dataset;
      const isOwn = this.cards.get(chartCode)?.isOwn;
      const position = isPinned(chart) ? undefined : positions.get(numberOf(chart));
      this.cards.delete(chartCode);
      this.cards.set(chartCode, { isOwn, isPinned: isPinned(chart), position, size: size === defaultSize ? undefined : size });
    }
    this.showTools(grid);
    this.querySelector("[data-announcement]").textContent = announcement;
    this.store.save();
    this.store.showActions();
  }

  /** Arranges charts as the cards say: the server may have sent some again before it had the newest layout. */
  show() {
    for (const grid of this.grids) {
      this.arrangeGrid(grid);
      this.showTools(grid);
    }
  }

  arrangeGrid(grid) {
    const ranks = new Map([...this.cards.keys()].map((code, rank) => [code, rank]));
    for (const chart of chartsOf(grid)) {
      if (toolsOf(chart).querySelector("[data-tool=remove]") && !this.cards.has(toolsOf(chart).dataset.chartCode)) chart.remove();
    }
    const charts = chartsOf(grid);
    const byDefault = charts.toSorted((a, b) => numberOf(a) - numberOf(b));
    const items = byDefault.map((chart) => {
      const tools = toolsOf(chart);
      const card = this.cards.get(tools.dataset.chartCode);
      chart.dataset.size = card?.size ?? tools.dataset.defaultSize;
      tools.querySelector("[data-tool=pin]").ariaPressed = String(card?.isPinned ?? false);
      return { chart, rank: ranks.get(tools.dataset.chartCode), ...card };
    });
    const order = arrange(items).map(({ chart }) => chart);
    if (order.some((chart, i) => chart !== charts[i])) for (const chart of order) moveChart(chart, null, grid);
  }

  showTools(grid) {
    for (const chart of chartsOf(grid)) {
      const tools = toolsOf(chart);
      const { before, after } = this.neighbours(chart, grid);
      tools.querySelector("[data-tool=earlier]").ariaDisabled = String(!before);
      tools.querySelector("[data-tool=later]").ariaDisabled = String(!after);
      setTabStop(tools);
    }
  }

  /** Sends a form of the layout after the newest layout is stored. */
  async onSubmit(event) {
    if (!this.store.isPending || !this.bar.contains(event.target)) return;
    event.preventDefault();
    await this.store.flush();
    event.target.requestSubmit(event.submitter);
  }

  report(problem) {
    const message = this.querySelector(".layout-problem");
    message.hidden = !problem;
    message.textContent = problem && interpolate(gettext("The layout is not saved. %s"), [problem]);
  }
}

customElements.define("chart-layout", ChartLayout);
