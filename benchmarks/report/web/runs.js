// Every run: a leaf of 50, sorted, searched; the reason opens below its row, and the address keeps which one.
const LEAF = 50;
const HEADS = {
  problem: ["problem", (r) => problems.get(r.problem).short], case: ["case", (r) => caseName(r.of)], solver: ["solver", (r) => called(r.solver)], status: ["status", (r) => r.status.toLowerCase().replaceAll("_", " ")],
  value: ["value", (r) => quantity(r.of.on, r.objective), (r, x) => amount(r.of.on, x, 5)], loss: ["worse by", (r) => r.loss, (r, x) => (x == null ? "–" : `${digits(100 * x, 2)} %`)],
  leakage: ["leakage", (r) => r.leakage, (r, x) => digits(x, 4)], seconds: ["time", (r) => r.seconds, (r, x) => seconds(x)], memory: ["MiB", (r) => r.memory, (r, x) => digits(x, 3)], seed: ["seed", (r) => r.seed, (r, x) => String(x)], key: ["id", (r) => r.key],
};
const leaf = { at: 0, by: "", down: false, text: "" };
const isText = (name) => !HEADS[name][2];

once("runs", () => {
  $("#runs-list").innerHTML = `<div class="leaf"><input type="search" id="runs-text" placeholder="Rows with …" aria-label="Rows with this text"><button type="button" class="button" data-leaf="-1">‹ Before</button><button type="button" class="button" data-leaf="1">Next ›</button><span id="runs-count" role="status"></span><button type="button" class="button" data-runs="csv">Save as CSV</button></div><div class="scroll" tabindex="0" role="region" aria-label="Every run"><table class="list" id="runs-table"></table></div><p class="note">All columns stand in <code>rows.csv</code> in the folder of the run. A line opens why the run ended.</p>`;
  $("#runs-text").addEventListener("input", (event) => { leaf.text = event.target.value.trim().toLowerCase(); leaf.at = 0; leaves(); });
  const wanted = state.run && rows.findIndex((row) => row.key === state.run);
  if (wanted > 0) leaf.at = Math.floor(wanted / LEAF);
  leaves();
});

function chosen() {
  const needle = leaf.text;
  const hit = (row) => `${Object.values(HEADS).slice(0, 4).map(([, get]) => get(row)).join(" ")} ${row.problem} ${row.of.on.name} ${row.status} ${row.reason} ${row.key}`.toLowerCase().includes(needle);
  const own = needle ? rows.filter(hit) : [...rows];
  if (!leaf.by) return own;
  const get = HEADS[leaf.by][1];
  const missing = (x) => x == null || x === "";
  return own.sort((a, b) => {
    const [x, y] = [get(a), get(b)];
    if (missing(x) || missing(y)) return missing(x) - missing(y);
    return (leaf.down ? -1 : 1) * (isText(leaf.by) ? String(x).localeCompare(String(y)) : x - y);
  });
}

function leaves() {
  const own = chosen();
  leaf.at = Math.max(0, Math.min(leaf.at, Math.ceil(own.length / LEAF) - 1));
  const part = own.slice(leaf.at * LEAF, (leaf.at + 1) * LEAF);
  const names = Object.keys(HEADS).filter((name) => name !== "seed" || data.seeds > 1);
  const heads = names.map((name) => `<th scope="col"${isText(name) ? "" : ` class="n"`}${leaf.by === name ? ` aria-sort="${leaf.down ? "descending" : "ascending"}"` : ""}><button type="button" data-sort="${name}">${HEADS[name][0]}</button></th>`).join("");
  const body = part.map((row) => `<tr class="run-row" data-run="${row.key}" id="run-${row.place}">${names.map((name) => `<td${isText(name) ? "" : ` class="n"`}>${name === "key" ? `<button type="button" class="button" aria-expanded="${row.key === state.run}" data-run="${row.key}">${row.key}</button>` : escaped(isText(name) ? HEADS[name][1](row) : HEADS[name][2](row, HEADS[name][1](row)))}</td>`).join("")}</tr>${row.key === state.run ? `<tr class="run-more"><td colspan="${names.length}">${escaped(row.reason)}${row.chosen ? ` Answer of ${code(row.chosen)}.` : ""}</td></tr>` : ""}`).join("");
  $("#runs-table").innerHTML = `<thead><tr>${heads}</tr></thead><tbody>${body}</tbody>`;
  $("#runs-count").textContent = own.length ? `${leaf.at * LEAF + 1} to ${leaf.at * LEAF + part.length} of ${own.length}` : "no row";
}

document.addEventListener("click", (event) => {
  const sort = event.target.closest("[data-sort]");
  const turn = event.target.closest("[data-leaf]");
  const run = event.target.closest("[data-run]");
  if (sort) {
    Object.assign(leaf, { down: leaf.by === sort.dataset.sort && !leaf.down, by: sort.dataset.sort, at: 0 });
    leaves();
    $(`[data-sort="${leaf.by}"]`).focus();
  } else if (turn) {
    leaf.at += Number(turn.dataset.leaf);
    leaves();
  } else if (run) {
    state.run = state.run === run.dataset.run ? "" : run.dataset.run;
    remember();
    leaves();
    $(`button[data-run="${CSS.escape(run.dataset.run)}"]`)?.focus();
  } else if (event.target.closest("[data-runs]")) {
    const names = ["problem", "instance", "budget", "solver", "seed", "status", "objective", "bound", "loss", "leakage", "seconds", "reason", "key"];
    const get = { instance: (r) => r.of.on.name, budget: (r) => r.of.budget, bound: (r) => r.of.bound };
    hand("runs.csv", csv(names, chosen().map((row) => names.map((name) => (get[name] ?? ((r) => r[name]))(row)))), "text/csv");
  }
});
