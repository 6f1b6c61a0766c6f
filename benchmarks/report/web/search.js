// Search: a problem, a solver of a problem, an instance; opens the problem, and shows the row.
const things = new Map();
for (const p of data.problems) {
  things.set(p.title, { problem: p.kind });
  for (const s of p.solvers) things.set(`${called(s.name)} · ${p.short}`, { problem: p.kind, solver: s.name });
}
for (const instance of instances) things.set(`${instance.title} · ${problems.get(instance.problem).short}`, { problem: instance.problem, instance: instance.name });

const find = $("#find");
$("#things").innerHTML = [...things.keys()].map((name) => `<option value="${escaped(name)}">`).join("");

function go() {
  const text = find.value.trim().toLowerCase();
  const name = text && ([...things.keys()].find((key) => key.toLowerCase() === text) ?? [...things.keys()].find((key) => key.toLowerCase().includes(text)));
  if (!name) return;
  const { problem, solver } = things.get(name);
  choose(problem);
  remember(true);
  draw();
  find.value = "";
  const row = solver && $(`#heat tr[data-solver="${CSS.escape(solver)}"]`);
  (row || $("#view")).scrollIntoView({ block: row ? "center" : "start" });
  if (row) { row.classList.add("flash"); setTimeout(() => row.classList.remove("flash"), 2500); $("button", row).focus({ preventScroll: true }); }
}

$(".find").addEventListener("submit", (event) => { event.preventDefault(); go(); });
find.addEventListener("input", () => { if (things.has(find.value)) go(); });
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !event.ctrlKey && !event.metaKey && !/INPUT|TEXTAREA|SELECT/.test(event.target.tagName)) { event.preventDefault(); find.focus(); }
});
