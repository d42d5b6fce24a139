// Sets theme and density before the first paint, so that no window opens in the wrong colours.
// The keys are those of src/lib/settings.svelte.ts.
(function () {
  var theme = 'system';
  var density = 'normal';
  try {
    var saved = JSON.parse(localStorage.getItem('onceover.settings') || '{}');
    theme = saved.theme || theme;
    density = saved.density || density;
  } catch (e) {
    // Blocked or broken storage: the defaults do.
  }
  var light = theme === 'light' || (theme === 'system' && matchMedia('(prefers-color-scheme: light)').matches);
  document.documentElement.dataset.theme = light ? 'light' : 'dark';
  document.documentElement.dataset.density = density;
})();
