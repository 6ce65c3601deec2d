// The view that a link names is in the fragment of the address, which a form would drop.
const form = document.querySelector('form');
if (form) form.action += location.hash;
