"use strict";
// Colours: as the system, light, dark; remembered nowhere.
(() => {
  const button = document.getElementById("theme");
  const root = document.documentElement;
  const names = { "": "as the system", light: "light", dark: "dark" };
  button.hidden = false;
  button.addEventListener("click", () => {
    const order = Object.keys(names);
    const next = order[(order.indexOf(root.dataset.theme || "") + 1) % order.length];
    if (next) root.dataset.theme = next;
    else delete root.dataset.theme;
    button.setAttribute("aria-label", `Colours: ${names[next]}`);
    button.dataset.tip = `Colours: ${names[next]}`;
  });
})();
