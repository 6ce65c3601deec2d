// Formats numbers, times and sizes.

const kWhole = new Intl.NumberFormat('en-US');
const kNone = '–';

export const kStates = ['ready', 'reserved', 'delayed', 'buried'];
export const kWaiting = kStates.filter((state) => state !== 'reserved');

// Formats 1,234,567, and a dash for an unknown number.
export function count(value) {
  return isKnown(value) ? kWhole.format(value) : kNone;
}

// Formats a number with at most five digits: 12,345, 123k, 1.23M.
export function shortCount(value) {
  if (!isKnown(value)) return kNone;
  if (value < 100000) return kWhole.format(Math.round(value));
  return withUnit(value, 1000, ['', 'k', 'M', 'G', 'T']);
}

// Formats a rate per second.
export function rate(value) {
  if (!isKnown(value)) return kNone;
  if (value === 0) return '0';
  if (value < 0.1) return value.toFixed(2);
  if (value < 100) return value.toFixed(1);
  return shortCount(value);
}

export function bytes(value) {
  return isKnown(value) ? withUnit(value, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB'], ' ') : kNone;
}

// Formats 45 s, 3 min 20 s, 5 h 12 min, 12 d 3 h.
export function duration(seconds) {
  if (!isKnown(seconds)) return kNone;
  const whole = Math.floor(seconds);
  if (seconds < 1 && seconds > 0) return '< 1 s';
  const units = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']];
  const first = units.findIndex(([size]) => whole >= size);
  if (first < 0) return '0 s';
  const [size, name] = units[first];
  const rest = units[first + 1];
  const more = rest ? Math.floor((whole % size) / rest[0]) : 0;
  return `${Math.floor(whole / size)} ${name}${more > 0 ? ` ${more} ${rest[1]}` : ''}`;
}

// Formats only the largest unit: 12 d.
export function roughly(seconds) {
  return duration(seconds).split(' ').slice(0, 2).join(' ');
}

export function milliseconds(value) {
  if (!isKnown(value)) return kNone;
  if (value < 1000) return `${value > 0 && value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
  return duration(value / 1000);
}

// Formats 14:03:12, with the date unless it is today.
export function clock(date) {
  const isToday = date.toDateString() === new Date().toDateString();
  return `${isToday ? '' : `${date.toLocaleDateString('en-GB', {day: 'numeric', month: 'short'})}, `}${date.toLocaleTimeString('en-GB')}`;
}

// Formats some members of an object.
export function texts(form, of, keys) {
  return Object.fromEntries(keys.map((key) => [key, form(of[key])]));
}

export function plural(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

function isKnown(value) {
  return typeof value === 'number' && Number.isFinite(value);
}

function withUnit(value, step, names, gap = '') {
  let unit = 0;
  let left = value;
  while (left >= step && unit + 1 < names.length) {
    left /= step;
    unit += 1;
  }
  const digits = unit === 0 || left >= 100 ? 0 : left >= 10 ? 1 : 2;
  return `${left.toFixed(digits)}${gap}${names[unit]}`;
}
