// Charts of the last hour or day, and spark lines: SVG paths in a box of 240 by 100 that the style
// sheet stretches, with HTML text beside it, which stays sharp.
import {ask} from './api.js';
import {button, el, replace, setHidden, setText, svg} from './dom.js';
import {clock, kStates} from './format.js';
import {keepInLink, readLink} from './view.js';

const kWidth = 240;
const kHeight = 100;
const kHistoryEvery = 15000;  // Milliseconds between two new points.

const kRanges = {
  hour: {label: 'Last hour', seconds: 3600, axis: ['60 min ago', '45', '30', '15', 'now']},
  day: {label: 'Last day', seconds: 86400, axis: ['24 h ago', '18', '12', '6', 'now']},
};
let range = 'hour';  // Common to all charts. It is kept from view to view, and in the address.
const rangeChanges = new EventTarget();

// Returns two buttons that choose the range of all charts.
export function rangeChoice() {
  const given = readLink().parameters.range;
  if (kRanges[given]) range = given;
  else if (range !== 'hour') keepInLink({range});
  const buttons = Object.entries(kRanges).map(([key, {label}]) => button(label, () => {
    range = key;
    keepInLink({range: key === 'hour' ? '' : key});
    mark();
    rangeChanges.dispatchEvent(new Event('change'));
  }));
  const mark = () => buttons.forEach((one, i) => one.setAttribute('aria-pressed', String(Object.keys(kRanges)[i] === range)));
  mark();
  return el('div', {class: 'choices small', role: 'group', 'aria-label': 'Range of the charts'}, buttons);
}

// A chart of several lines, [{key, label, kind}], where `kind` is a class of the style sheet that
// has the colour; `format` formats a value. update(history) takes an answer of api/history;
// explain(text) sets the reason why there are no points.
export function chart(title, lines, format) {
  const paths = lines.map((line) => svg('path', {class: `line ${line.kind}`}));
  const drawing = svg('svg', {viewBox: `0 0 ${kWidth} ${kHeight}`, preserveAspectRatio: 'none', 'aria-hidden': 'true'},
                      [25, 50, 75].map((y) => svg('path', {class: 'grid', d: `M0 ${y}H${kWidth}`})), paths);
  const top = el('span', {class: 'scale'});
  const cursor = el('span', {class: 'cursor', hidden: true});
  const nothing = el('span', {class: 'no-points'}, 'No points yet.');
  const axis = el('div', {class: 'axis', 'aria-hidden': 'true'});
  const plot = el('div', {class: 'plot', role: 'img', tabindex: '0', 'aria-label': title}, drawing, top, cursor, nothing);
  const values = lines.map(() => el('b'));
  const when = el('span', {class: 'when'}, 'now');
  const legend = el('figcaption', {}, el('p', {class: 'chart-title'}, title), when, el('ul', {},
    lines.map((line, i) => el('li', {}, el('i', {class: `key ${line.kind}`}), line.label, ' ', values[i]))));
  const element = el('figure', {class: 'chart'}, legend, plot, axis);
  let history = null;
  let slots = kWidth;  // Points of a full chart.
  let shownRange = '';
  let at = null;  // Index of the selected point; null for the last one.

  const point = () => {
    if (!history) return;
    const index = at ?? history.points - 1;
    lines.forEach((line, i) => setText(values[i], format(history[line.key]?.[index])));
    const ago = (history.points - 1 - index) * history.step_seconds;
    setText(when, at === null ? 'now' : clock(new Date((history.end - ago) * 1000)));
    setHidden(cursor, at === null);
    cursor.style.left = `${(xOf(index, history.points, slots) / kWidth) * 100}%`;
  };
  const select = (index) => {
    at = index;
    point();
  };
  plot.addEventListener('pointermove', (event) => {
    if (!history?.points) return;
    const box = plot.getBoundingClientRect();
    const slot = Math.round(((event.clientX - box.left) / box.width) * (slots - 1)) - (slots - history.points);
    select(Math.max(0, Math.min(history.points - 1, slot)));
  });
  plot.addEventListener('pointerleave', () => select(null));
  plot.addEventListener('blur', () => select(null));
  plot.addEventListener('keydown', (event) => {
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (!step || !history?.points) return;
    event.preventDefault();
    const next = (at ?? history.points - 1) + step;
    select(next >= history.points - 1 ? null : Math.max(0, next));
  });

  const update = (answer) => {
    history = answer;
    const {label, seconds, axis: marks} = kRanges[range];
    slots = Math.round(seconds / answer.step_seconds);
    if (shownRange !== range) {
      replace(axis, marks.map((text) => el('span', {}, text)));
      at = null;
    }
    shownRange = range;
    const all = lines.flatMap((line) => answer[line.key] ?? []).filter((value) => value !== null);
    const highest = ceiling(largest(all));
    const x = (index) => xOf(index, answer.points, slots);
    lines.forEach((line, i) => paths[i].setAttribute('d', pathOf(answer[line.key] ?? [], highest, x)));
    setHidden(nothing, all.length > 0);
    plot.classList.toggle('is-empty', all.length === 0);
    setText(top, all.length > 0 ? format(highest) : '');
    plot.setAttribute('aria-label', `${title}, ${label.toLowerCase()}. ${lines.map((line) => summary(line, answer, format)).join('. ')}`);
    point();
  };
  return {element, update, explain: (text) => setText(nothing, text)};
}

function largest(values) {
  return values.reduce((a, b) => Math.max(a, b), 0);
}

function summary(line, answer, format) {
  const known = (answer[line.key] ?? []).filter((value) => value !== null);
  if (known.length === 0) return `${line.label}: unknown`;
  return `${line.label}: now ${format(known[known.length - 1])}, highest ${format(largest(known))}`;
}

// A small drawing of in and out without numbers, which are beside it.
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

// Returns the x of a point. The last point is at the right end and each point has one slot, so a
// program that has just started draws a short line at the right.
function xOf(index, points, slots) {
  return ((slots - points + index) / (slots - 1)) * kWidth;
}

// Returns a path with gaps for unknown values.
function pathOf(values, highest, x) {
  let path = '';
  let isDown = false;
  values.forEach((value, index) => {
    if (value === null) {
      isDown = false;
      return;
    }
    const y = kHeight - 2 - (highest > 0 ? (value / highest) * (kHeight - 6) : 0);
    path += `${isDown ? 'L' : 'M'}${x(index).toFixed(1)} ${y.toFixed(1)}`;
    // A single point is drawn as a dot.
    if (!isDown && (values[index + 1] ?? null) === null) path += 'h.1';
    isDown = true;
  });
  return path;
}

// Returns the next round number: 1, 2 or 5 times a power of ten.
function ceiling(value) {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((factor) => factor * power).find((round) => round >= value) ?? value;
}

// A row of charts of one server or tube, `of`: {server, tube}. They are updated until `life` ends;
// onHistory(answer) is called each time. explain(text) calls explain() of each chart.
export function chartRow(of, life, charts, onHistory = () => {}) {
  const element = el('div', {class: 'charts'}, charts.map((one) => one.element));
  const load = life.every(kHistoryEvery, async () => {
    const wanted = range;
    const history = await ask('history', {...of, range: wanted}, life.signal);
    if (wanted !== range) return;  // An answer for the new range will follow.
    charts.forEach((one) => one.update(history));
    onHistory(history);
  });
  rangeChanges.addEventListener('change', load, {signal: life.signal});
  return {element, explain: (text) => charts.forEach((one) => one.explain(text))};
}

export const kRateLines = [
  {key: 'put_rate', label: 'in', kind: 'in'},
  {key: 'delete_rate', label: 'out', kind: 'out'},
];

export const kStateLines = kStates.map((state) => ({key: state, label: state, kind: state}));
