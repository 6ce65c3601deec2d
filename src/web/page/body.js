// Shows the body of a job as text, as JSON that folds, as base64 and as bytes in hex. Nothing in a
// body is ever unserialized or run.
import {button, el, replace} from './dom.js';
import * as format from './format.js';

const kHexBytesMax = 4096;  // Largest part of a body that is drawn as hex.
const kTextMax = 65536;
const kChildrenMax = 100;  // Members of an object or array that are drawn at once.

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

// A number that a double cannot hold, shown as it was written.
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

// Returns the name that Laravel gives to a job, or null. Also works for a part of a body.
export function jobName(bytes) {
  const found = /"displayName"\s*:\s*("(?:[^"\\]|\\.)*")/.exec(textOf(bytes));
  try {
    return found ? JSON.parse(found[1]) : null;
  } catch {
    return null;
  }
}

const kBeforeHit = 24;  // Characters.
const kAfterHit = 80;

// Returns part of a body as one line. The bytes may end within a character.
function lineOf(bytes) {
  return new TextDecoder().decode(bytes, {stream: true}).replace(/[\0-\x1f\x7f]+/g, ' ');
}

// Returns the name of a job that was found, and its body around the marked hit.
export function hitExcerpt(job) {
  const bytes = decode(job.body_base64);
  const [begin, end] = [job.hit_offset ?? 0, (job.hit_offset ?? 0) + (job.hit_bytes ?? 0)];
  const before = [...lineOf(bytes.subarray(0, begin))];
  const after = lineOf(bytes.subarray(end)).slice(0, kAfterHit);
  const name = jobName(bytes);
  const isWritten = end > begin || isText(bytes) || after.search(/[^\ufffd ]{8}/) >= 0;
  return [name ? el('b', {}, name) : null, el('span', {}, isWritten
    ? [before.length > kBeforeHit || job.body_offset > 0 ? '…' : '', before.slice(-kBeforeHit).join(''), end > begin ? el('mark', {}, lineOf(bytes.subarray(begin, end))) : null, after]
    : hexOf(bytes.subarray(0, 24)))];
}

function hexOf(bytes) {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
}

function hexDump(bytes, width) {
  const lines = [];
  for (let at = 0; at < Math.min(bytes.length, kHexBytesMax); at += width) {
    const part = bytes.subarray(at, at + width);
    const letters = [...part].map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : '.')).join('');
    lines.push(`${at.toString(16).padStart(8, '0')}  ${hexOf(part).padEnd(width * 3 - 1)}  ${letters}`);
  }
  if (bytes.length > kHexBytesMax) lines.push(`… and ${format.bytes(bytes.length - kHexBytesMax)} more`);
  return lines.join('\n');
}

// Chooses as many bytes for each line as fit without wrapping.
function hexView(bytes) {
  const element = el('pre', {class: 'hex', tabindex: '0', 'aria-label': 'Body as hex'});
  let room = 0;
  const draw = () => {
    if (element.offsetWidth === room) return;
    room = element.offsetWidth;
    for (const width of [16, 8, 4]) {
      element.textContent = hexDump(bytes, width);
      if (element.scrollWidth <= element.clientWidth) break;
    }
  };
  // Not within the observer, which would report its own change of the height as an error.
  new ResizeObserver(() => requestAnimationFrame(draw)).observe(element);
  return element;
}

// Children are created when they are unfolded, so a deep or wide document costs only the parts that
// are shown.
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

// `job` is an answer of api/job. The chosen form is kept for the next body.
let chosen = null;

export function bodyView(job) {
  const bytes = decode(job.body_base64);
  const text = textOf(bytes);
  const json = job.is_cut ? undefined : parseJson(text);
  const forms = {
    JSON: json === undefined ? null : () => el('div', {class: 'json'}, jsonNode(null, json, true)),
    Text: () => el('pre', {tabindex: '0', 'aria-label': 'Body as text'}, text.slice(0, kTextMax)),
    Base64: () => el('pre', {class: 'wraps', tabindex: '0', 'aria-label': 'Body as base64'}, (job.body_base64 ?? '').slice(0, kTextMax)),
    Hex: () => hexView(bytes),
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
  return el('div', {class: 'body'}, el('div', {class: 'body-forms', role: 'group', 'aria-label': 'Format of the body'}, choices,
    el('span', {class: 'about'}, size)), place);
}
