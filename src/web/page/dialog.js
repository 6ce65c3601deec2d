// Dialogs: questions before changes, and the progress of long work.
import {button, el, field, setText, toast} from './dom.js';

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
    const go = el('button', {type: 'submit', class: isDanger ? 'danger' : 'main', value: 'go'}, verb);
    const heading = el('h2', {id: 'dialog-title'}, title);
    const form = el('form', {method: 'dialog'}, heading,
      typeof text === 'string' ? el('p', {}, text) : text, inputs.map(([, label]) => label),
      mustType === null ? null : el('label', {}, el('span', {}, 'Type the name ', el('b', {}, mustType), ' to continue'), typed),
      el('div', {class: 'buttons'}, button('Cancel', () => dialog.close('')), go));
    const dialog = el('dialog', {'aria-labelledby': 'dialog-title'}, form);
    if (mustType !== null) {
      go.disabled = true;
      typed.addEventListener('input', () => {
        go.disabled = typed.value !== mustType;
      });
    }
    dialog.addEventListener('close', () => {
      const answers = Object.fromEntries(inputs.map(([input]) => [input.name, input.value]));
      resolve(dialog.returnValue === 'go' ? answers : null);
      dialog.remove();
    });
    document.body.append(dialog);
    dialog.showModal();
    if (inputs.length === 0 && mustType === null) (isDanger ? form.querySelector('button') : go).focus();
  });
}

export function tell(title, ...content) {
  const dialog = el('dialog', {'aria-labelledby': 'dialog-title'}, el('h2', {id: 'dialog-title'}, title), content,
    el('form', {method: 'dialog', class: 'buttons'}, el('button', {class: 'main'}, 'Close')));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

// Runs work(signal, say), which may take long, and shows its progress with a button that stops it.
// Then shows the text that `work` returns, or the error.
export async function progress(title, work) {
  const controller = new AbortController();
  const text = el('span', {}, title);
  const line = el('p', {class: 'toast'}, text, button('Stop', () => controller.abort()));
  const shown = setTimeout(() => document.getElementById('toasts').append(line), 400);
  try {
    toast(await work(controller.signal, (said) => setText(text, `${title}: ${said}`)));
  } catch (error) {
    if (error.name === 'AbortError') toast(`${title}: stopped`);
    else toast(`${title}: ${error.message}`, true);
  } finally {
    clearTimeout(shown);
    line.remove();
  }
}
