// Formats numbers as the server does: number() and share() of runs/tables/numbers.py. A readout and the text above it
// then agree in every digit. Also formats times of charts.

const MINUS = "\u2212";
const THIN = "\u202f";
const MAX_FRACTION_DIGITS = 100;

/** Rounds half to even, as Python does. JavaScript rounds a tie away from zero. Both know the number's exact value. */
function roundTie(text, exact) {
  const isTie = /^50*$/.test(exact);
  if (!isTie || (text.at(-1).charCodeAt(0) - 48) % 2 === 0) return text;
  // A tie that was rounded up to an odd digit: the digit below is even and needs no carry.
  return text.slice(0, -1) + String(Number(text.at(-1)) - 1);
}

function toFixed(size, decimals) {
  const exact = size.toFixed(MAX_FRACTION_DIGITS).split(".")[1];
  return roundTie(size.toFixed(decimals), exact.slice(decimals));
}

function toExponential(size, decimals) {
  const [mantissa, exponent] = size.toExponential(decimals).split("e");
  const exact = size.toExponential(MAX_FRACTION_DIGITS).split("e")[0].slice(2 + decimals);
  return `${roundTie(mantissa, exact)}e${Number(exponent)}`;
}

const grouped = (whole) => whole.replace(/\B(?=(\d{3})+$)/g, THIN);

/** Formats a number with `digits` significant digits, a true minus sign and grouped thousands; – if it is missing. */
export function number(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  if (Number.isNaN(value)) return "NaN";
  const sign = value < 0 ? MINUS : "";
  const size = Math.abs(value);
  if (size === Infinity) return `${sign}∞`;
  if (size && (size < 1e-3 || size >= 1e9)) return sign + toExponential(size, digits - 1).replace("e-", `e${MINUS}`);
  const isWhole = size >= 10 ** digits || Number.isInteger(size);
  const decimals = isWhole ? 0 : Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  const [whole, fraction] = toFixed(size, decimals).split(".");
  return sign + grouped(whole) + (fraction ? `.${fraction}` : "");
}

/** Formats a share as a whole number of percent, with decimals within 1 % of 0 and of 100; – if it is missing. */
export function share(value) {
  if (value === null || value === undefined || !Number.isFinite(100 * value)) return number(value);
  const percent = 100 * value;
  const end = Math.min(percent, 100 - percent);
  if (end > 0 && end < 1) {
    const decimals = 1 + (end < 0.1) + (end < 0.01);
    return `${toFixed(percent, decimals).replace(/\.?0+$/, "")}${THIN}%`;
  }
  const below = Math.floor(percent);
  const rest = percent - below;
  const isUp = rest > 0.5 || (rest === 0.5 && below % 2 !== 0);
  return `${BigInt(below) + BigInt(isUp)}${THIN}%`;
}

/** Returns milliseconds since 1970 as a time in UTC, 2026-11-01T12:30:00.000; undefined if they are no date. */
export function utcText(ms) {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString().slice(0, -1);
}

export const FORMATS = { number, share };
