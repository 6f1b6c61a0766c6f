// Blocks of code get a name of their own, and wide tables can be scrolled by key: the theme leaves both out.
const named = () => {
  document.querySelectorAll(".md-code__nav:not([aria-label])").forEach((nav) => {
    const all = [...document.querySelectorAll(".md-code__nav")];
    nav.setAttribute("aria-label", `Code block ${all.indexOf(nav) + 1}`);
  });
  document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])").forEach((wide) => (wide.tabIndex = 0));
};
new MutationObserver(named).observe(document.body, { childList: true, subtree: true });
named();
