"use strict";
// Drawing: each figure is one view, themed as the reader wishes; hiding a solver changes its data. The style sheet
// makes words dark on paper, because a page that is being printed does not wait for a drawing.
const dark = matchMedia("(prefers-color-scheme: dark)");

function theme(width) {
  const config = structuredClone(run.themes[dark.matches ? "dark" : "light"]);
  config.legend.columns = Math.max(1, Math.min(4, Math.floor(width / 150)));
  config.legend.labelLimit = Math.min(170, Math.floor(width / config.legend.columns) - 55);
  return config;
}

// JSON has no infinity: Vega draws nothing at null.
const drawable = (rows) => rows.map((record) => Object.fromEntries(Object.entries(record).map(
  ([name, x]) => [name, typeof x === "number" && !Number.isFinite(x) ? null : x])));

function specification(figure, config, background) {
  const now = current(figure);
  const spec = structuredClone(figure.spec);
  spec.params.find((one) => one.name === "shown").value = legend(figure);
  const named = [spec, ...(spec.layer || [])].map((part) => part.data && part.data.name).filter(Boolean);
  spec.datasets = Object.fromEntries(named.map((name) => [name, drawable(now[name])]));
  return { ...spec, config: { ...config, background } };
}

const options = { actions: false, renderer: "svg", ast: true };

async function draw(figure) {
  const box = document.getElementById(`figure-${figure.name}`);
  const plot = box.querySelector(".plot");
  if (figure.view) figure.view.finalize();
  figure.view = null;
  if (current(figure)[figure.shown].length) {
    const spec = specification(figure, theme(box.clientWidth || 520), null);
    const tip = dark.matches ? { theme: "dark" } : {};
    figure.view = (await window.vegaEmbed(plot, spec, { ...options, tooltip: tip })).view;
    figure.named = Object.keys(spec.datasets);
  } else plot.textContent = "Nothing is drawn: every solver of this figure is hidden.";
  tell(figure, box);
}

function tell(figure, box) {
  box.querySelector(".said").textContent = figure.said;
  for (const button of box.querySelectorAll("button[data-format]")) button.disabled = !figure.view;
}

async function refresh(figure) {
  const now = current(figure);
  if (!figure.view || !now[figure.shown].length) {
    await draw(figure);
    return;
  }
  for (const name of figure.named) figure.view.data(name, drawable(now[name]));
  figure.view.signal("shown", legend(figure));
  await figure.view.runAsync();
  tell(figure, document.getElementById(`figure-${figure.name}`));
}

// One at a time, so that the page answers while many figures are drawn; a later call waits for the earlier ones.
let queue = Promise.resolve();
function all(work) {
  document.documentElement.dataset.drawn = "no";
  const turn = queue.then(async () => {
    for (const figure of run.figures) {
      await work(figure);
      await new Promise((done) => setTimeout(done));
    }
    if (queue === turn) document.documentElement.dataset.drawn = "yes";
  });
  queue = turn;
  return turn;
}

if (run.figures.length) {
  dark.addEventListener("change", () => all(draw));
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    all(draw);
  });
}
