// Saving: figures as SVG, PNG, CSV and LaTeX, tables as CSV, LaTeX and Markdown, under names that say what they are.
const FORMATS = { figure: [["svg", "SVG"], ["png", "PNG"], ["csv", "CSV"], ["tex", "Copy as LaTeX (pgfplots)"]], table: [["csv", "CSV"], ["tex", "Copy as LaTeX (booktabs)"], ["md", "Copy as Markdown"], ["print", "Print all problems"]] };
const saver = (kind, what) => `<details class="save"><summary aria-label="Save or copy: ${escaped(what)}">Save ▾</summary><div>${FORMATS[kind].map(([format, name]) => `<button type="button" data-save="${format}">${name}</button>`).join("")}</div></details>`;

function hand(name, parts, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([parts], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

// To the clipboard; as a file where that is not allowed.
async function copy(name, text) {
  try {
    await navigator.clipboard.writeText(text);
    say("Copied.");
  } catch {
    hand(name, text, "text/plain");
  }
}

const quoted = (x) => (x == null ? "" : x === Infinity ? "inf" : x === -Infinity ? "-inf" : /[",\n\r]/.test(String(x)) ? `"${String(x).replaceAll('"', '""')}"` : String(x));
const csv = (heads, lines) => `${[heads, ...lines].map((l) => l.map(quoted).join(",")).join("\n")}\n`;
const COMMANDS = { "\\": "\\textbackslash{}", "{": "\\{", "}": "\\}", $: "\\$", "&": "\\&", "#": "\\#", _: "\\_", "%": "\\%", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "<": "\\textless{}", ">": "\\textgreater{}", "|": "\\textbar{}", '"': "\\textquotedbl{}", "ε": "$\\varepsilon$", "δ": "$\\delta$", "−": "$-$", "●": "$\\bullet$", "≈": "$\\approx$", "○": "$\\circ$", "✕": "$\\times$", "–": "--", "≫": "$\\gg$", "µ": "$\\mu$", "×": "$\\times$", "≤": "$\\leq$", "[": "{[}", "]": "{]}" };
const tex = (text) => [...String(text)].map((c) => COMMANDS[c] ?? c).join("");

// A figure as pgfplots: what is drawn, a line a solver.
function pgfplots(title, box) {
  const series = new Map();
  for (const [name, x, y] of box.lines) if (Number.isFinite(x) && Number.isFinite(y)) (series.get(name) ?? series.set(name, []).get(name)).push(`(${x},${y})`);
  const look = [`xlabel={${tex(box.words.x)}}`, `ylabel={${tex(box.words.y)}}`, "legend pos=outer north east", "legend cell align=left", ...(box.words.log ? ["ymode=log"] : []), ...(box.words.logx ? ["xmode=log"] : [])];
  const how = box.words.marks ? "[only marks]" : box.words.steps ? "+[const plot, mark=none]" : "";
  const plots = [...series].map(([name, points]) => `\\addplot${how} coordinates {${points.join(" ")}};\n\\addlegendentry{${tex(called(name))}}`);
  return `% ${title.replace(/\s+/g, " ")}; needs \\usepackage{pgfplots}\n\\begin{tikzpicture}\n\\begin{axis}[${look.join(", ")}]\n${plots.join("\n")}\n\\end{axis}\n\\end{tikzpicture}\n`;
}

// The table of cells as text: heads, lines.
function tabular(view) {
  const heads = ["solver", "best", "taken", "median_seconds", ...view.cases.map((one) => `${one.on.name} ${one.budget}`)];
  const lines = view.solvers.map((s) => [called(s.name), s.won, s.taken, s.seconds, ...view.cases.map((one) => { const row = s.entries.get(one.index); return row ? SIGNS[row.kind] || percent(row.loss) : ""; })]);
  return { heads, lines };
}

const booktabs = ({ heads, lines }) => `% needs \\usepackage{booktabs}\n\\begin{tabular}{l${"r".repeat(heads.length - 1)}}\n\\toprule\n${[heads, ...lines].map((l) => `${l.map((x) => tex(typeof x === "number" ? digits(x) : x ?? "")).join(" & ")} \\\\`).join("\n").replace("\n", "\n\\midrule\n")}\n\\bottomrule\n\\end{tabular}\n`;
const piped = ({ heads, lines }) => `| ${heads.join(" | ")} |\n|${heads.map(() => " --- |").join("")}\n${lines.map((l) => `| ${l.map((x) => String(typeof x === "number" ? digits(x) : x ?? "").replaceAll("|", "\\|")).join(" | ")} |`).join("\n")}\n`;

async function save(button) {
  const format = button.dataset.save;
  const figure = button.closest("figure");
  button.closest(".save").open = false;
  if (!figure) return saveTable(format);
  const box = $(".plot", figure);
  const name = `${slug(state.problem)}-${figure.dataset.name}.${format}`;
  const title = `${problems.get(state.problem).title}: ${$("h3", figure).textContent}`;
  if (format === "csv") hand(name, csv(box.columns, box.lines), "text/csv");
  if (format === "tex") await copy(name, pgfplots(title, box));
  if (format === "svg") hand(name, await onPaper(figure, (view) => view.toSVG()), "image/svg+xml");
  if (format === "png") hand(name, await onPaper(figure, async (view) => new Promise((done) => view.toCanvas(2).then((canvas) => canvas.toBlob(done)))), "image/png");
}

async function saveTable(format) {
  if (format === "print") return printAll();
  const table = tabular(model(state.problem));
  const name = `${slug(state.problem)}-solvers.${format}`;
  if (format === "csv") hand(name, csv(table.heads, table.lines), "text/csv");
  else await copy(name, format === "tex" ? booktabs(table) : piped(table));
}

// Files are drawn in the colours of paper, whatever the screen shows.
async function onPaper(figure, work) {
  filing = true;
  try {
    await figure.draw();
    return await work($(".plot", figure).view);
  } finally {
    filing = false;
    await figure.draw();
  }
}
