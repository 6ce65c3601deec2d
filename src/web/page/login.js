// The fragment of the address names the view; a form would drop it.
const form = document.querySelector('form');
if (form) form.action += location.hash;
