// As time goes, on one case: what solvers say they have reached, ended by the judged answer, and the bounds they proved on the way.
function telling(view) {
  const byCase = new Map();
  for (const row of view.rows) if (data.traces[row.place] && row.answered) (byCase.get(row.case) ?? byCase.set(row.case, []).get(row.case)).push(row);
  return new Map([...byCase].sort((a, b) => b[1].length - a[1].length));
}

const CHOICE = (view) => `<div class="tools"><label>Case <select data-case>${[...telling(view).keys()].map((i) => `<option value="${i}"${state.traced === i ? " selected" : ""}>${escaped(caseName(cases[i]))}</option>`).join("")}</select></label></div>`;

async function anytime(view, box, caption) {
  const byCase = telling(view);
  const index = byCase.has(state.traced) ? state.traced : byCase.keys().next().value;
  const own = byCase.get(index).filter((row) => !state.hide.has(row.solver));
  const instance = cases[index].on;
  const series = own.map((row) => ({ row, k: view.look.get(row.solver) ?? 0, points: data.traces[row.place].map(([t, objective, bound]) => ({ solver: row.solver, run: row.place, x: Math.max(t, 1e-4), y: quantity(instance, objective), bound: quantity(instance, bound) })) }));
  const others = view.rows.filter((row) => row.case === index && row.loss != null && !own.includes(row) && !state.hide.has(row.solver)).map((row) => ({ solver: row.solver, x: Math.max(row.seconds, 1e-4), y: quantity(instance, row.objective), bound: null }));
  const all = [...series.flatMap((s) => s.points), ...others];
  box.columns = ["solver", "seconds", instance.quantity, "bound"];
  box.lines = all.map((p) => [p.solver, p.x, p.y, p.bound]);
  box.words = { x: "seconds", y: axisName(instance), steps: true, logx: true };
  caption.textContent = `Solid: ${instance.quantity}, ${instance.sign > 0 ? "higher" : "lower"} is better; dashed: the bound. What was told on the way is not judged; the end of a line is. Dots: answers of the other solvers.`;
  box.setAttribute("aria-label", `As time goes on ${caseName(cases[index])}: ${series.map((s) => `${called(s.row.solver)} ${seconds(s.points[0].x)} to ${seconds(s.points.at(-1).x)}`).join("; ")}`);
  if (!all.length) { box.view?.finalize(); box.innerHTML = `<p class="note">No solver of those shown told anything.</p>`; return; }
  const [last, first] = [Math.max(...all.map((p) => p.x)), Math.min(...all.map((p) => p.x))];
  const span = [first / 1.2, Math.max(last * 1.1, first * 2)];
  const domain = extent(all.flatMap((p) => [p.y, p.bound]).filter((v) => v != null && Number.isFinite(v)));
  const { letters, pixels } = margin(series.map((s) => called(s.row.solver)), box.clientWidth || 480);
  const [height, width] = [HEIGHT, Math.max(120, (box.clientWidth || 480) - pixels - 50)];
  const x = { field: "x", type: "quantitative", title: "seconds", scale: scale(span, true), axis: { format: "~g", tickCount: 5, labelOverlap: true, grid: false } };
  const y = { field: "y", type: "quantitative", title: null, scale: scale(domain, false), axis: { tickCount: 5, domain: false, ticks: false, format: instance.unit === "share" ? ".1~%" : ".4~g" } };
  const steps = (field, dash, k) => ({ type: "line", interpolate: "step-after", ...stroke(k), strokeDash: dash });
  const layers = series.flatMap((s) => [
    { data: { values: s.points.filter((p) => Number.isFinite(p.bound) && p.bound != null) }, mark: { ...steps("bound", [4, 3], s.k), strokeWidth: 1.2 }, encoding: { x, y: { ...y, field: "bound" } } },
    { data: { values: s.points.filter((p) => p.y != null) }, mark: { ...steps("y", [], s.k), point: { filled: true, color: tint(s.k), size: 24 } }, encoding: { x, y } },
  ]);
  const ends = new Map(series.map((s) => [s.row.solver, { name: called(s.row.solver), k: s.k, y: height - scaled(s.points.at(-1).y ?? domain[0], domain, height, false) }]));
  layers.unshift({ data: { values: others }, mark: { type: "point", filled: true, size: 20, color: colour("grey"), opacity: 1 }, encoding: { x, y } });
  layers.push(...ended(apart([...ends.values()].slice(0, 12), height), width, letters));
  await plot(box, { width, height, layer: layers });
}

document.addEventListener("change", (event) => {
  if (!event.target.matches("[data-case]")) return;
  state.traced = Number(event.target.value);
  event.target.closest("figure").draw();
});
