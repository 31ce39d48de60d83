// Sets the chosen theme before the first paint, so that the page does not flash. Runs as a plain
// script, before the modules.
(function () {
  try {
    const chosen = localStorage.getItem('steward.theme');
    if (chosen === 'dark' || chosen === 'light') document.documentElement.dataset.theme = chosen;
  } catch {
    /* without storage the system's theme holds */
  }
})();
