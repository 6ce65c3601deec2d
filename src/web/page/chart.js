// Charts of the last hour, and spark lines: SVG paths in a box of 240 by 100 that the style sheet
// stretches, and text beside it as HTML, which stays sharp.
import {el, setHidden, setText, svg} from './dom.js';
import {kStates} from './format.js';

const kWidth = 240;
const kHeight = 100;

// A chart of several lines. `lines`: [{key, label, kind}], where `kind` is a class of the style
// sheet that has its colour; `format` makes text of a value. update(history) takes an answer of
// api/history.
export function chart(title, lines, format) {
  const paths = lines.map((line) => svg('path', {class: `line ${line.kind}`}));
  const drawing = svg('svg', {viewBox: `0 0 ${kWidth} ${kHeight}`, preserveAspectRatio: 'none', 'aria-hidden': 'true'},
                      [25, 50, 75].map((y) => svg('path', {class: 'grid', d: `M0 ${y}H${kWidth}`})), paths);
  const top = el('span', {class: 'scale'});
  const cursor = el('span', {class: 'cursor', hidden: true});
  const nothing = el('span', {class: 'no-points'}, 'A point comes every 15 seconds.');
  const plot = el('div', {class: 'plot', role: 'img', tabindex: '0', 'aria-label': title}, drawing, top, cursor, nothing);
  const values = lines.map(() => el('b'));
  const when = el('span', {class: 'when'}, 'now');
  const legend = el('figcaption', {}, el('p', {class: 'chart-title'}, title), when, el('ul', {},
    lines.map((line, i) => el('li', {}, el('i', {class: `key ${line.kind}`}), line.label, ' ', values[i]))));
  const element = el('figure', {class: 'chart'}, legend, plot,
    el('div', {class: 'axis', 'aria-hidden': 'true'},
       ['60 min ago', '45', '30', '15', 'now'].map((text) => el('span', {}, text))));
  let history = null;
  let at = null;  // The index of the point that is looked at; null: the last one.

  const point = () => {
    if (!history) return;
    const index = at ?? history.points - 1;
    lines.forEach((line, i) => setText(values[i], format(history[line.key]?.[index])));
    const ago = (history.points - 1 - index) * history.step_seconds;
    setText(when, at === null ? 'now' : new Date((history.end - ago) * 1000).toLocaleTimeString('en-GB'));
    setHidden(cursor, at === null);
    cursor.style.left = `${(xOf(index, history.points) / kWidth) * 100}%`;
  };
  const look = (index) => {
    at = index;
    point();
  };
  plot.addEventListener('pointermove', (event) => {
    if (!history?.points) return;
    const box = plot.getBoundingClientRect();
    const slot = Math.round(((event.clientX - box.left) / box.width) * (kWidth - 1)) - (kWidth - history.points);
    look(Math.max(0, Math.min(history.points - 1, slot)));
  });
  plot.addEventListener('pointerleave', () => look(null));
  plot.addEventListener('blur', () => look(null));
  plot.addEventListener('keydown', (event) => {
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!step || !history?.points) return;
    event.preventDefault();
    const next = (at ?? history.points - 1) + step;
    look(next >= history.points - 1 ? null : Math.max(0, next));
  });

  const update = (answer) => {
    history = answer;
    const all = lines.flatMap((line) => answer[line.key] ?? []).filter((value) => value !== null);
    const highest = ceiling(largest(all));
    lines.forEach((line, i) => paths[i].setAttribute('d', pathOf(answer[line.key] ?? [], highest)));
    setHidden(nothing, all.length > 0);
    setText(top, all.length > 0 ? format(highest) : '');
    plot.setAttribute('aria-label', `${title}, the last hour. ${lines.map((line) => summary(line, answer, format)).join('. ')}`);
    point();
  };
  return {element, update};
}

function largest(values) {
  return values.reduce((a, b) => Math.max(a, b), 0);
}

function summary(line, answer, format) {
  const known = (answer[line.key] ?? []).filter((value) => value !== null);
  if (known.length === 0) return `${line.label}: not known yet`;
  return `${line.label}: now ${format(known[known.length - 1])}, at most ${format(largest(known))}`;
}

// A small drawing of in and out without numbers: those stand beside it.
export function spark() {
  const into = svg('path', {class: 'line in'});
  const out = svg('path', {class: 'line out'});
  const element = svg('svg', {class: 'spark', viewBox: `0 0 ${kWidth} ${kHeight}`, preserveAspectRatio: 'none',
                              'aria-hidden': 'true'}, into, out);
  const update = (ins, outs) => {
    const all = [...(ins ?? []), ...(outs ?? [])].filter((value) => value !== null);
    const highest = largest(all);
    for (const [path, values] of [[into, ins], [out, outs]]) {
      const stretched = kWidth / Math.max(1, (values?.length ?? 1) - 1);
      path.setAttribute('d', values && highest > 0 ? pathOf(values, highest, (index) => index * stretched) : '');
    }
  };
  return {element, update};
}

// The last point is at the right end, and 15 seconds are one unit: a program that has just begun
// has a short line at the right.
function xOf(index, points) {
  return ((kWidth - points + index) / (kWidth - 1)) * kWidth;
}

// What is not known is a gap.
function pathOf(values, highest, x = (index) => xOf(index, values.length)) {
  let path = '';
  let isDown = false;
  values.forEach((value, index) => {
    if (value === null) {
      isDown = false;
      return;
    }
    const y = kHeight - 2 - (highest > 0 ? (value / highest) * (kHeight - 6) : 0);
    path += `${isDown ? 'L' : 'M'}${x(index).toFixed(1)} ${y.toFixed(1)}`;
    // A point alone is drawn as a dot.
    if (!isDown && (values[index + 1] ?? null) === null) path += 'h.1';
    isDown = true;
  });
  return path;
}

// The next round number: 1, 2 or 5 times a power of ten.
function ceiling(value) {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((factor) => factor * power).find((round) => round >= value) ?? value;
}

// The charts of the last hour of a server or a tube, asked anew each 15 seconds by the caller.
export function chartRow(...charts) {
  const element = el('div', {class: 'charts'}, charts.map((one) => one.element));
  return {element, update: (history) => charts.forEach((one) => one.update(history))};
}

export const kRateLines = [
  {key: 'put_rate', label: 'in', kind: 'in'},
  {key: 'delete_rate', label: 'out', kind: 'out'},
];

export const kStateLines = kStates.map((state) => ({key: state, label: state, kind: state}));
