// Restores what the user did in a part of the page when htmx refreshes the part: typed text with its caret, ticks and
// choices, opened and closed details, scrolled boxes and selected text. A request that the user made, such as a search,
// shows its own state.

const toggled = new WeakSet();
let saved;

document.addEventListener("click", ({ target }) => {
  const details = target.closest?.("summary")?.parentElement;
  if (details) toggled.add(details);
}, { capture: true });

/** Returns a text that names a field: its form, the row that the form changes, and its own name. */
function fieldKey(field) {
  const hidden = [...(field.form?.elements ?? [])].filter(({ type, name }) => type === "hidden" && name !== "csrfmiddlewaretoken");
  const value = ["checkbox", "radio"].includes(field.type) ? field.value : "";
  const form = ["id", "action"].map((name) => field.form?.getAttribute(name));
  return JSON.stringify([field.id, ...form, hidden.map((input) => input.value), field.name, value]);
}

const detailsKey = (details) => details.id || details.dataset.slug || details.querySelector("summary").textContent.trim();
const boxKey = (box) => box.id || box.getAttribute("aria-label") || box.className;

const selectedOptions = (field) => JSON.stringify([...field.options].map((option) => option.selected));
const defaultOptions = (field) => JSON.stringify([...field.options].map((option) => option.defaultSelected));

function isInUse(field) {
  if (field === document.activeElement) return true;
  if (field.localName === "select") return selectedOptions(field) !== defaultOptions(field);
  return field.value !== field.defaultValue || field.checked !== field.defaultChecked;
}

function restoreField(field, before) {
  if (field.type === "checkbox" || field.type === "radio") field.checked = before.checked;
  else if (field.type !== "file") field.value = before.value;
  if (document.activeElement === field && before.caret) field.setSelectionRange(...before.caret);
}

const KINDS = [
  {
    select: "input:not([type=hidden]), textarea, select",
    key: fieldKey,
    read: (field) => isInUse(field) && { value: field.value, checked: field.checked, caret: caretOf(field) },
    restore: restoreField,
  },
  {
    select: "details",
    key: detailsKey,
    read: (details) => toggled.has(details) && { open: details.open },
    restore: (details, { open }) => {
      details.open = open;
      toggled.add(details);
    },
  },
  {
    // A box that scrolls has a tabindex, so that the keyboard reaches it. The log moves by itself.
    select: "[tabindex='0']:not(log-tail *)",
    key: boxKey,
    read: ({ scrollTop, scrollLeft }) => (scrollTop || scrollLeft) && { scrollTop, scrollLeft },
    restore: (box, position) => Object.assign(box, position),
  },
];

function caretOf(field) {
  return field.selectionStart == null ? undefined : [field.selectionStart, field.selectionEnd];
}

/** Calls `visit` with each element of a kind and a key that is unique in the part: equal keys are numbered. */
function eachElement(part, { select, key }, visit) {
  const seen = new Map();
  for (const element of part.querySelectorAll(select)) {
    const name = key(element);
    seen.set(name, (seen.get(name) ?? 0) + 1);
    visit(element, `${seen.get(name)} ${name}`);
  }
}

function readStates(part, kind) {
  const states = new Map();
  eachElement(part, kind, (element, key) => {
    const state = kind.read(element);
    if (state) states.set(key, state);
  });
  return states;
}

function readSelection(part) {
  const selection = document.getSelection();
  if (selection.isCollapsed || !part.contains(selection.anchorNode) || !part.contains(selection.focusNode)) return undefined;
  const range = selection.getRangeAt(0);
  const before = document.createRange();
  before.selectNodeContents(part);
  before.setEnd(range.startContainer, range.startOffset);
  return { start: before.toString().length, text: range.toString() };
}

/** Selects the same text again: at its place, or wherever it is now if it occurs once. */
function restoreSelection(part, { start, text }) {
  const all = part.textContent;
  const first = all.indexOf(text);
  const place = all.startsWith(text, start) ? start : first === all.lastIndexOf(text) ? first : -1;
  if (!text || place < 0) return;
  const range = document.createRange();
  range.setStart(...nodeAt(part, place));
  range.setEnd(...nodeAt(part, place + text.length));
  document.getSelection().removeAllRanges();
  document.getSelection().addRange(range);
}

function nodeAt(part, offset) {
  const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    if (offset <= walker.currentNode.length) return [walker.currentNode, offset];
    offset -= walker.currentNode.length;
  }
  return [part, part.childNodes.length];
}

document.addEventListener("htmx:beforeSwap", ({ detail: { target, requestConfig, shouldSwap } }) => {
  const isRefresh = shouldSwap && requestConfig.verb === "get" && !requestConfig.triggeringEvent?.isTrusted;
  saved = isRefresh ? { target, states: KINDS.map((kind) => readStates(target, kind)), selection: readSelection(target) } : undefined;
});

document.addEventListener("htmx:afterSwap", () => {
  if (!saved) return;
  const { target, states, selection } = saved;
  saved = undefined;
  const part = target.isConnected ? target : document.getElementById(target.id);
  if (!part) return;
  KINDS.forEach((kind, i) => {
    eachElement(part, kind, (element, key) => states[i].has(key) && kind.restore(element, states[i].get(key)));
  });
  if (selection) restoreSelection(part, selection);
});
