// A table of any number of rows that creates only the visible ones. Row numbers are available to
// screen readers, and the arrow keys move from row to row.
import {button, el, setText} from './dom.js';

const kSpareRows = 6;  // Rows above and below the visible ones.
const kScrollPixelsMax = 8e6;  // Browsers cannot scroll further than 16 to 33 million pixels.

// `columns` is a list of {key, label, kind, text, href, rises}: text(value, row) returns the text
// of a cell, href(row) its link, and a column that rises is first sorted from the smallest up.
// prepare(cells) and fillRow(cells, row, element) add further contents; `row` is undefined while it
// is unknown. `query` is {sort, reverse}, as in the address; onSort() is called when they have
// changed. onRange(first, last) is called with the visible rows at each scroll. The table ends with
// `life`.
export class BigTable {
  constructor({label, columns, query, onSort, fillRow, prepare = () => {}, onRange = () => {}}, life) {
    Object.assign(this, {columns, query, fillRow, prepare, onRange});
    this.total = 0;
    this.rows = new Map();  // Known rows by index.
    this.shown = new Map();  // Index -> {element, cells}.
    this.spare = [];
    const sort = (key) => {
      query.reverse = query.sort === key && query.reverse === '0' ? '1' : '0';
      query.sort = key;
      this.showSort();
      onSort();
    };
    this.heads = columns.map(({key, label: text, kind}) => el('div', {role: 'columnheader', class: kind},
      kind === 'drawing' ? text : button(text, () => sort(key))));
    this.showSort();
    this.head = el('div', {role: 'rowgroup', class: 'head'}, el('div', {role: 'row', class: 'row', 'aria-rowindex': '1'}, this.heads));
    this.body = el('div', {role: 'rowgroup', class: 'rows'});
    this.table = el('div', {role: 'table', 'aria-label': label, 'aria-colcount': String(columns.length)}, this.head, this.body);
    this.element = el('div', {class: 'big-table', tabindex: '0', role: 'region', 'aria-label': `${label}, scrolls`}, this.table);
    this.element.addEventListener('scroll', () => this.draw(), {passive: true});
    this.element.addEventListener('keydown', (event) => this.onKey(event));
    const resized = new ResizeObserver(() => this.draw());
    resized.observe(this.element);
    life.signal.addEventListener('abort', () => resized.disconnect());
  }

  // Returns the pixels of the table for one pixel of the scroll bar: more than one in a table of a
  // million rows.
  scale() {
    const room = this.element.clientHeight - this.head.offsetHeight;
    const all = this.total * this.rowHeight;
    return all <= kScrollPixelsMax ? 1 : (all - room) / (kScrollPixelsMax - room);
  }

  showSort() {
    const {sort, reverse} = this.query;
    this.columns.forEach(({key, rises = false}, i) => {
      const order = key !== sort ? 'none' : rises === (reverse === '0') ? 'ascending' : 'descending';
      this.heads[i].setAttribute('aria-sort', order);
    });
  }

  setTotal(total) {
    this.total = total;
    this.table.setAttribute('aria-rowcount', String(total + 1));
    this.draw();
  }

  // Sets all rows.
  setAll(rows) {
    this.rows = new Map(rows.entries());
    this.setTotal(rows.length);
  }

  // Sets the rows from here on. Keeps other known rows until forget().
  setRows(from, rows) {
    rows.forEach((row, i) => this.rows.set(from + i, row));
    for (const index of this.rows.keys()) {
      if (this.rows.size <= 3000) break;
      if (index < from - 1000 || index > from + 1000) this.rows.delete(index);
    }
    this.draw();
  }

  forget() {
    this.rows.clear();
  }

  top() {
    this.element.scrollTop = 0;
  }

  draw() {
    // The style sheet sets the height of a row: it is larger on a phone.
    this.rowHeight = parseFloat(getComputedStyle(this.element).getPropertyValue('--row')) || 32;
    this.body.style.height = `${Math.min(this.total * this.rowHeight, kScrollPixelsMax)}px`;
    const scrolled = this.element.scrollTop;
    const room = this.element.clientHeight;
    const begin = scrolled * this.scale();
    const first = Math.max(0, Math.floor(begin / this.rowHeight) - kSpareRows);
    const last = Math.min(this.total, Math.ceil((begin + room) / this.rowHeight) + kSpareRows);
    for (const [index, row] of this.shown) {
      if (index >= first && index < last) continue;
      this.shown.delete(index);
      // Keep the focus, which would be lost with its row.
      if (row.element.contains(document.activeElement)) this.element.focus({preventScroll: true});
      row.element.remove();
      this.spare.push(row);
    }
    for (let index = last - 1; index >= first; index -= 1) {
      const row = this.shown.get(index) ?? this.show(index);
      row.element.style.transform = `translateY(${index * this.rowHeight - begin + scrolled}px)`;
      const data = this.rows.get(index);
      if (row.isFilled && row.data === data) continue;
      row.isFilled = true;
      row.data = data;
      row.element.classList.toggle('is-unknown', data === undefined);
      this.fill(row, data);
    }
    this.spare.length = Math.min(this.spare.length, 20);
    if (last > first) this.onRange(first, last);
  }

  show(index) {
    const row = this.spare.pop() ?? this.makeRow();
    row.element.setAttribute('aria-rowindex', String(index + 2));
    row.element.dataset.index = String(index);
    this.shown.set(index, row);
    // Keep the document in the order of the table, for screen readers.
    const next = this.shown.get(index + 1)?.element ?? null;
    this.body.insertBefore(row.element, next);
    return row;
  }

  makeRow() {
    const cells = this.columns.map(({kind, href}) => el('div', {role: 'cell', class: kind}, href ? el('a') : null));
    this.prepare(cells);
    return {cells, element: el('div', {role: 'row', class: 'row'}, cells)};
  }

  fill({cells, element}, row) {
    this.columns.forEach(({key, kind, text = String, href}, i) => {
      if (kind === 'drawing') return;
      const place = href ? cells[i].firstChild : cells[i];
      setText(place, row ? text(row[key], row) : href ? '…' : '');
      if (href) place.href = row ? href(row) : '#/';
      cells[i].classList.toggle('is-zero', ['0', '–'].includes(place.textContent));
    });
    this.fillRow(cells, row, element);
  }

  onKey(event) {
    const row = event.target.closest?.('[data-index]');
    const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (!step || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const index = row ? Number(row.dataset.index) + step : Math.ceil((this.element.scrollTop * this.scale()) / this.rowHeight);
    this.focusRow(Math.max(0, Math.min(this.total - 1, index)));
  }

  focusRow(index) {
    const scale = this.scale();
    const above = this.head.offsetHeight;
    const begin = (index * this.rowHeight) / scale;
    const room = (this.element.clientHeight - above - this.rowHeight) / scale;
    if (this.element.scrollTop > begin) this.element.scrollTop = begin;
    else if (this.element.scrollTop < begin - room) this.element.scrollTop = begin - room;
    this.draw();
    this.shown.get(index)?.element.querySelector('a')?.focus({preventScroll: true});
  }
}
