"use strict";
// Saving: SVG and PNG on paper's ground with title and caption, CSV of what is shown.
function save(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

function quoted(x) {
  if (x === null || x === undefined) return "";
  const text = x === Infinity ? "inf" : x === -Infinity ? "-inf" : String(x);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function csv(figure) {
  const drawn = current(figure)[figure.shown];
  const columns = figure.data[figure.shown] ? figure.data[figure.shown].columns : ["solver", "tau", "share"];
  return [columns, ...drawn.map((record) => columns.map((name) => record[name]))].map((line) => line.map(quoted).join(",")).join("\n") + "\n";
}

function wrapped(text, letters) {
  const lines = [""];
  for (const word of text.split(/\s+/)) {
    const line = lines[lines.length - 1];
    if (line && line.length + word.length >= letters) lines.push(word);
    else lines[lines.length - 1] = line ? `${line} ${word}` : word;
  }
  return lines;
}

// A view that nobody sees, as wide as the files that are written without a browser.
async function titled(figure, work) {
  const width = 520;
  const config = structuredClone(run.themes.light);
  config.legend.columns = 3;
  const spec = specification(figure, config, config.background);
  spec.width = width;
  spec.title = { text: figure.title, subtitle: wrapped(figure.said, 84) };
  const place = document.createElement("div");
  place.className = "aside";
  document.body.append(place);
  const made = await window.vegaEmbed(place, spec, options);
  try {
    return await work(made.view);
  } finally {
    made.view.finalize();
    place.remove();
  }
}

const writers = {
  svg: (figure) => titled(figure, async (view) => new Blob([await view.toSVG()], { type: "image/svg+xml" })),
  png: (figure) => titled(figure, async (view) => {
    const canvas = await view.toCanvas(2);
    return new Promise((done) => canvas.toBlob(done, "image/png"));
  }),
  csv: async (figure) => new Blob([csv(figure)], { type: "text/csv" }),
};

for (const button of document.querySelectorAll("button[data-format]")) {
  button.addEventListener("click", async () => {
    const name = button.closest("figure").dataset.figure;
    const figure = run.figures.find((one) => one.name === name);
    save(`${name}.${button.dataset.format}`, await writers[button.dataset.format](figure));
  });
}
