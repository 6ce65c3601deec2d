// Runs before anything is drawn, so that the other theme does not flash.
'use strict';
try {
  const chosen = localStorage.getItem('haricot-theme');
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
} catch {
  // Without storage the system's theme applies.
}
