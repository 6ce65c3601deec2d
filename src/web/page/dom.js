// Elements and dialogs of the page. Foreign text (names, bodies, errors) is inserted only as text nodes, so it
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

// A line that is visible while there is a problem: set(text), or set('').
export function troubleLine() {
  const element = el('p', {class: 'gone', hidden: true});
  const set = (what = '') => {
    setHidden(element, !what);
    setText(element, what);
  };
  return {element, set};
}

// Shows a line for a few seconds; screen readers announce it.
export function toast(text, isError = false) {
  const line = el('p', {class: isError ? 'toast bad' : 'toast'}, text);
  const place = document.getElementById('toasts');
  place.append(line);
  setTimeout(() => line.remove(), isError ? 12000 : 6000);
}

// Dialogs: questions before changes, and the progress of long work.

// Asks a question. Returns the answers as {name: text}, or null if it is cancelled. `fields` is
// [{name, label, value, type, ...attributes}]. `mustType` is a text that has to be typed before the
// button works; `isDanger` means that jobs are lost.
export function askFor({title, text, fields = [], verb, isDanger = false, mustType = null}) {
  return new Promise((resolve) => {
    const inputs = fields.map(({name, label, value, type, options, ...more}) => {
      const input = type === 'textarea' ? el('textarea', {name, rows: '6', spellcheck: 'false', ...more})
        : options ? el('select', {name, ...more}, options.map(([key, words]) => el('option', {value: key}, words)))
          : field({name, type: type ?? 'text', ...more});
      if (value !== undefined) input.value = value;
      return [input, el('label', {}, el('span', {}, label), input)];
    });
    const typed = field({type: 'text', name: 'typed'});
    const submit = el('button', {type: 'submit', class: isDanger ? 'danger' : 'main', value: 'submit'}, verb);
    const heading = el('h2', {id: 'dialog-title'}, title);
    const form = el('form', {method: 'dialog'}, heading,
      typeof text === 'string' ? el('p', {}, text) : text, inputs.map(([, label]) => label),
      mustType === null ? null : el('label', {}, el('span', {}, 'Type the name ', el('b', {}, mustType), ' to continue'), typed),
      el('div', {class: 'buttons'}, button('Cancel', () => dialog.close('')), submit));
    const dialog = el('dialog', {'aria-labelledby': 'dialog-title'}, form);
    if (mustType !== null) {
      submit.disabled = true;
      typed.addEventListener('input', () => {
        submit.disabled = typed.value !== mustType;
      });
    }
    dialog.addEventListener('close', () => {
      const answers = Object.fromEntries(inputs.map(([input]) => [input.name, input.value]));
      resolve(dialog.returnValue === 'submit' ? answers : null);
      dialog.remove();
    });
    document.body.append(dialog);
    dialog.showModal();
    if (inputs.length === 0 && mustType === null) (isDanger ? form.querySelector('button') : submit).focus();
  });
}

// Shows a dialog with a button that closes it.
export function showDialog(title, ...content) {
  const dialog = el('dialog', {'aria-labelledby': 'dialog-title'}, el('h2', {id: 'dialog-title'}, title), content,
    el('form', {method: 'dialog', class: 'buttons'}, el('button', {class: 'main'}, 'Close')));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

// Runs work(signal, report), which may take long, and shows its progress with a button that stops it.
// Then shows the text that `work` returns, or the error.
export async function progress(title, work) {
  const controller = new AbortController();
  const text = el('span', {}, title);
  const line = el('p', {class: 'toast'}, text, button('Stop', () => controller.abort()));
  const shown = setTimeout(() => document.getElementById('toasts').append(line), 400);
  try {
    toast(await work(controller.signal, (done) => setText(text, `${title}: ${done}`)));
  } catch (error) {
    if (error.name === 'AbortError') toast(`${title}: stopped`);
    else toast(`${title}: ${error.message}`, true);
  } finally {
    clearTimeout(shown);
    line.remove();
  }
}
