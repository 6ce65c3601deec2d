// Runs before anything is drawn, so that a theme that was chosen does not flash the other one.
'use strict';
try {
  const chosen = localStorage.getItem('haricot-theme');
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
} catch {
  // No storage: the system's theme.
}
