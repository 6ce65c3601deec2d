// The body of a job, to look at: as text, as JSON that folds, as base64 and as bytes in hex. Nothing
// in a body is ever unserialized or run.
import {button, el, replace} from './dom.js';
import * as format from './format.js';

const kHexBytesMax = 4096;  // More of a body is not drawn as hex.
const kTextMax = 65536;
const kChildrenMax = 100;  // Of an object or array, at once.

export function decode(base64) {
  return Uint8Array.from(atob(base64 ?? ''), (letter) => letter.charCodeAt(0));
}

function textOf(bytes) {
  return new TextDecoder('utf-8').decode(bytes);
}

function isText(bytes) {
  try {
    return !/[\0-\x08\x0e-\x1a\x1c-\x1f]/.test(new TextDecoder('utf-8', {fatal: true}).decode(bytes));
  } catch {
    return false;
  }
}

// A number that a double cannot hold is shown as it was written.
class Literal {
  constructor(source) {
    this.source = source;
  }
}

function parseJson(text) {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text, (key, value, context) =>
      typeof value === 'number' && context?.source && String(value) !== context.source ? new Literal(context.source) : value);
  } catch {
    return undefined;
  }
}

// The name that Laravel gives to a job, or nothing. Also from a part of a body.
export function jobName(bytes) {
  const found = /"displayName"\s*:\s*("(?:[^"\\]|\\.)*")/.exec(textOf(bytes));
  try {
    return found ? JSON.parse(found[1]) : null;
  } catch {
    return null;
  }
}

// One line of a body, for lists.
export function excerpt(bytes, length = 200) {
  const shown = bytes.subarray(0, length * 4);
  return isText(shown) || textOf(shown).search(/[^\ufffd\0-\x1f]{8}/) >= 0
    ? textOf(shown).replace(/[\0-\x1f\x7f]+/g, ' ').slice(0, length) : hexOf(shown.subarray(0, 24));
}

function hexOf(bytes) {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
}

function hexDump(bytes) {
  const lines = [];
  for (let at = 0; at < Math.min(bytes.length, kHexBytesMax); at += 16) {
    const part = bytes.subarray(at, at + 16);
    const letters = [...part].map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : '.')).join('');
    lines.push(`${at.toString(16).padStart(8, '0')}  ${hexOf(part).padEnd(47)}  ${letters}`);
  }
  if (bytes.length > kHexBytesMax) lines.push(`… and ${format.bytes(bytes.length - kHexBytesMax)} more`);
  return lines.join('\n');
}

// Children come when somebody unfolds them: a deep or wide document costs what is looked at.
function jsonNode(key, value, isOpen) {
  const name = key === null ? [] : [el('span', {class: 'json-key'}, key), ': '];
  if (value === null || typeof value !== 'object' || value instanceof Literal) {
    const text = value instanceof Literal ? value.source : JSON.stringify(value);
    return el('div', {class: 'json-leaf'}, name, el('span', {class: `json-${value instanceof Literal ? 'number' : typeof value}`}, text));
  }
  const isArray = Array.isArray(value);
  const keys = Object.keys(value);
  const about = isArray ? `[ ${format.plural(keys.length, 'element')} ]` : `{ ${format.plural(keys.length, 'key')} }`;
  const inside = el('div', {class: 'json-inside'});
  const node = el('details', {open: isOpen}, el('summary', {}, name, el('span', {class: 'json-about'}, about)), inside);
  let shown = 0;
  const more = () => {
    const part = keys.slice(shown, shown + kChildrenMax);
    shown += part.length;
    inside.append(...part.map((child) => jsonNode(child, value[child], false)));
    if (shown < keys.length) {
      const next = button(`${format.count(keys.length - shown)} more`, () => {
        next.remove();
        more();
      });
      inside.append(next);
    }
  };
  if (isOpen) more();
  else node.addEventListener('toggle', more, {once: true});
  return node;
}

// `job`: an answer of api/job. The choice of a form is kept from body to body.
let chosen = null;

export function bodyView(job) {
  const bytes = decode(job.body_base64);
  const text = textOf(bytes);
  const json = job.is_cut ? undefined : parseJson(text);
  const forms = {
    JSON: json === undefined ? null : () => el('div', {class: 'json'}, jsonNode(null, json, true)),
    Text: () => el('pre', {tabindex: '0', 'aria-label': 'Body as text'}, text.slice(0, kTextMax)),
    Base64: () => el('pre', {class: 'wraps', tabindex: '0', 'aria-label': 'Body as base64'}, (job.body_base64 ?? '').slice(0, kTextMax)),
    Hex: () => el('pre', {tabindex: '0', 'aria-label': 'Body as hex'}, hexDump(bytes)),
  };
  const first = json !== undefined ? 'JSON' : isText(bytes) ? 'Text' : 'Hex';
  const place = el('div', {class: 'body-place'});
  const choices = Object.keys(forms).filter((form) => forms[form]).map((form) => button(form, () => {
    chosen = form;
    show(form);
  }));
  const show = (form) => {
    choices.forEach((one) => one.setAttribute('aria-pressed', String(one.textContent === form)));
    replace(place, bytes.length === 0 ? el('p', {class: 'nothing'}, 'The body is empty.') : forms[form]());
  };
  show(forms[chosen] ? chosen : first);
  const size = job.is_cut ? `the first ${format.bytes(bytes.length)} of ${format.bytes(job.bytes)}` : format.bytes(bytes.length);
  return el('div', {class: 'body'}, el('div', {class: 'body-forms', role: 'group', 'aria-label': 'Form of the body'}, choices,
    el('span', {class: 'about'}, size)), place);
}
