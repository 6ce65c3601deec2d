// Elements of the page. Foreign text (names, bodies, errors) is inserted only as text nodes, so it
// is never run.

// el('a', {href: '#/', class: 'x', onclick: f}, 'text', otherElement, null): properties that begin
// with 'on' are listeners. A property or child that is null, undefined or false is left out.
export function el(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

export function svg(tag, properties = {}, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), properties, children);
}

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
}

// Changes the document only if the text differs, so that screen readers do not repeat it.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function setHidden(element, isHidden) {
  if (element.hidden !== isHidden) element.hidden = isHidden;
}

export function replace(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

export function button(label, onclick, properties = {}) {
  return el('button', {type: 'button', onclick, ...properties}, label);
}

// An input that the browser neither fills in nor corrects.
export function field(properties) {
  return el('input', {autocomplete: 'off', spellcheck: 'false', ...properties});
}

// Returns true if the user is reading this element: text of it is selected, a part below the first
// level is unfolded, or it is scrolled. Such an element must not be replaced.
export function isBeingRead(element) {
  const selection = getSelection();
  return (!selection.isCollapsed && selection.containsNode(element, true)) || element.querySelector('details details[open]') !== null ||
    [...element.querySelectorAll('pre, .json')].some((one) => one.scrollTop > 0 || one.scrollLeft > 0);
}

// A row of numbers with names below them. set({ready: '12'}) changes them. `fields` is a list of 12
// or 16 [key, label, class], which are shown in columns of equal width.
export function numberStrip(fields) {
  const values = new Map();
  const list = el('dl', {class: fields.length === 12 ? 'strip is-dozen' : 'strip'}, fields.map(([key, label, kind]) => {
    values.set(key, el('dd'));
    return el('div', {class: kind ?? null}, el('dt', {}, label), values.get(key));
  }));
  const set = (texts) => {
    for (const [key, text] of Object.entries(texts)) setText(values.get(key), text);
  };
  return {element: el('div', {class: 'strip-room'}, list), list, set};
}

// Returns names and values, one line each.
export function pairs(values) {
  return Object.entries(values ?? {}).map(([key, value]) => el('div', {}, el('dt', {}, key), el('dd', {}, String(value))));
}

// A line that is visible while there is a problem: say(text), or say('').
export function troubleLine() {
  const element = el('p', {class: 'gone', hidden: true});
  const say = (what = '') => {
    setHidden(element, !what);
    setText(element, what);
  };
  return {element, say};
}

// Shows a line for a few seconds; screen readers announce it.
export function toast(text, isError = false) {
  const line = el('p', {class: isError ? 'toast bad' : 'toast'}, text);
  const place = document.getElementById('toasts');
  place.append(line);
  setTimeout(() => line.remove(), isError ? 12000 : 6000);
}
