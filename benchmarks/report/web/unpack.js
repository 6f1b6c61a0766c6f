// What is inside the page: columns with levels and codes, and the drawing library, both compressed.
const $ = (where, inside = document) => inside.querySelector(where);
const $$ = (where, inside = document) => [...inside.querySelectorAll(where)];
const root = document.documentElement;
const escaped = (x) => String(x).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);

async function inflatedText(letters) {
  const bytes = Uint8Array.from(atob(letters.trim()), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}
const inflated = (id) => inflatedText($(`#${id}`).textContent);

const plain = (x) => (x === "inf" ? Infinity : x === "-inf" ? -Infinity : x);

// An array of records from columns: {l: levels, c: codes}, or values.
function records(columns) {
  const names = Object.keys(columns);
  const values = names.map((name) => (columns[name].l ? columns[name].c.map((i) => columns[name].l[i]) : columns[name].map(plain)));
  return Array.from({ length: values.length ? values[0].length : 0 }, (_, i) => Object.fromEntries(names.map((name, k) => [name, values[k][i]])));
}

const data = JSON.parse(await inflated("data"));
const problems = new Map(data.problems.map((p) => [p.kind, p]));
const instances = records(data.instances);
const cases = records(data.cases);
const rows = records(data.rows);
instances.forEach((instance, i) => Object.assign(instance, { index: i, problem: data.problems[instance.problem].kind }));
cases.forEach((one, i) => Object.assign(one, { index: i, on: instances[one.instance], problem: instances[one.instance].problem }));
rows.forEach((row, i) => Object.assign(row, { place: i, of: cases[row.case], problem: cases[row.case].problem, spread: data.spreads[i] }));
// What stands for a case: the median of its repetitions, or its one answer.
const level = (row) => (row.spread ? row.spread.objective[0] : row.objective);

const drawable = Boolean($("#library"));
let engine = null;
function library() {
  engine ??= inflated("library").then((code) => {
    const script = document.createElement("script");
    script.textContent = `(() => {${code}\n})();`;
    document.head.append(script);
    return window.vegaEmbed;
  });
  return engine;
}
