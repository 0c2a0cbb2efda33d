// Before the first paint, so that a chosen theme does not flash. A script of its own: the content security policy allows
// no inline ones.
try {
  const theme = localStorage.getItem('meshwise-theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // storage is refused in some frames
}
