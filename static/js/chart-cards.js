// Cards of a chart layout: how the charts of a page differ from their default order and size. The text form is that of
// runs/chart_layouts/cards.py: `kl:wide:pinned`, `reward:at3`, `own:kl,kl/k3`.

export const SIZES = ["small", "medium", "wide"];

/** Returns [code, card] of a text form. The code is the chart's name as the text form writes it. */
export function parseCard(text) {
  const parts = text.split(":");
  const isOwn = parts[0] === "own";
  const code = parts.slice(0, isOwn ? 2 : 1).join(":");
  const words = parts.slice(isOwn ? 2 : 1);
  const position = words.find((word) => /^at\d+$/.test(word));
  return [code, {
    isOwn,
    size: words.find((word) => SIZES.includes(word)),
    isPinned: words.includes("pinned"),
    position: position && Number(position.slice(2)),
  }];
}

/** Returns the text form, or undefined for a chart that does not differ from the default. */
export function formatCard(code, { isOwn, size, isPinned, position }) {
  if (!isOwn && !size && !isPinned && !position) return undefined;
  return [code, size, isPinned && "pinned", position && `at${position}`].filter(Boolean).join(":");
}

/** Returns the members of a heaviest increasing subsequence of distinct numbers, as a Set. `weigh` returns a weight. */
function heaviestIncreasing(numbers, weigh) {
  const ends = [];
  let best;
  for (const number of numbers) {
    let before;
    for (const end of ends) if (end.number < number && end.weight > (before?.weight ?? 0)) before = end;
    const end = { number, before, weight: (before?.weight ?? 0) + weigh(number) };
    ends.push(end);
    if (end.weight > (best?.weight ?? 0)) best = end;
  }
  const members = new Set();
  for (let end = best; end; end = end.before) members.add(end.number);
  return members;
}

/** Returns Map number -> position from 1 of as few of the charts as need one, if possible of those in `moved`. `numbers` are
 * their places in the default order, as they are now arranged. */
export function positionsOf(numbers, moved) {
  const inOrder = heaviestIncreasing(numbers, (number) => (moved.has(number) ? 0.5 : 1));
  return new Map(numbers.map((number, i) => [number, i + 1]).filter(([number]) => !inOrder.has(number)));
}

/** Returns the items in the order of a layout, as the server arranges them. Items: {rank, isPinned, position}. */
export function arrange(items) {
  const pinned = items.filter((item) => item.isPinned).sort((a, b) => a.rank - b.rank);
  const rest = items.filter((item) => !item.isPinned && !item.position);
  const positioned = items.filter((item) => !item.isPinned && item.position).sort((a, b) => a.position - b.position);
  for (const item of positioned) rest.splice(item.position - 1, 0, item);
  return [...pinned, ...rest];
}
