// How often, how soon: the share of all tasks that a solver answers so well, by time, among the solvers shown.
const TICK = 1e-6;
const ENOUGH = 8;

function profile(view, within = state.within, axis = state.axis) {
  const tasks = new Set(view.rows.map(task));
  const costs = new Map(shown(view).map((s) => [s.name, new Map()]));
  const fastest = new Map();
  for (const row of view.rows) {
    const own = costs.get(row.solver);
    if (!own || row.seconds == null || !answers(row, within)) continue;
    const cost = Math.max(row.seconds, TICK);
    own.set(task(row), cost);
    fastest.set(task(row), Math.min(cost, fastest.get(task(row)) ?? Infinity));
  }
  const reached = [...costs].map(([name, own]) => [name, [...own].map(([one, cost]) => (axis === "ratio" ? cost / fastest.get(one) : cost)).sort((a, b) => a - b)]);
  const all = reached.flatMap(([, xs]) => xs);
  const first = axis === "ratio" || !all.length ? 1 : Math.min(...all);
  const last = Math.max(first, ...all);
  return { first, last, tasks: tasks.size, curves: new Map(reached.map(([name, xs]) => [name, steps(xs, tasks.size, first, last)])) };
}

const task = (row) => `${row.case}|${row.seed}|${row.limit}`;
const answers = (row, within) => row.reached || (within > WITHIN.best && row.verified && row.objective != null && row.of.best - row.objective <= within * row.of.scale);

// (x, share) where the share changes, from the first x to the last.
function steps(xs, tasks, first, last) {
  const shares = new Map([[first, 0]]);
  xs.forEach((x, i) => shares.set(x, (i + 1) / tasks));
  if (!shares.has(last)) shares.set(last, xs.length / tasks);
  return [...shares];
}

async function staircase(view, box, caption) {
  const made = profile(view);
  const ratio = state.axis === "ratio";
  box.columns = ["solver", ratio ? "times_the_fastest" : "seconds", "share"];
  box.lines = [...made.curves].flatMap(([name, points]) => points.map(([x, y]) => [name, x, y]));
  box.words = { x: ratio ? "times as long as the fastest" : "seconds", y: "share of cases", steps: true, logx: true };
  const goal = state.within > WITHIN.best ? `within ${100 * state.within} % of the best` : "as well as the best";
  const many = `${made.curves.size} solvers shown`;
  caption.textContent = `Share of all ${made.tasks} ${data.seeds > 1 ? "runs" : "cases"} that a solver answers ${goal}, ${ratio ? `within so many times the seconds of the fastest of the ${many}` : `within so many seconds; ${many}`}. ${ratio ? "Hide one, and the ratios are computed again." : ""}`;
  box.setAttribute("aria-label", `${caption.textContent} ${[...made.curves].map(([name, points]) => `${called(name)} ${digits(100 * points.at(-1)[1], 3)} %`).join("; ")}`);
  const [height, most] = [215, Math.max(1.3 * made.last, 2 * made.first)];
  const coloured = [...view.look].filter(([name]) => made.curves.has(name));
  const { letters, pixels } = margin(coloured.map(([name]) => name), box.clientWidth || 480);
  const width = Math.max(120, (box.clientWidth || 480) - pixels - 48);
  const x = { field: "x", type: "quantitative", title: box.words.x, scale: { type: "log", domain: [made.first, most], nice: false }, axis: { format: "~g", tickCount: 5, labelOverlap: true } };
  const y = { field: "y", type: "quantitative", title: null, scale: { domain: [0, 1] }, axis: { format: "%", tickCount: 5, domain: false, ticks: false } };
  const corners = (name) => [...made.curves.get(name), [most, made.curves.get(name).at(-1)[1]]].map((p) => ({ n: name, x: p[0], y: p[1] }));
  const line = (k) => ({ type: "line", interpolate: "step-after", ...stroke(k) });
  const layers = [{ data: { values: [...made.curves.keys()].filter((name) => !view.look.has(name)).flatMap(corners) }, mark: line(0), encoding: { x, y, detail: { field: "n" } } }];
  for (const [name, k] of [...coloured].reverse()) layers.push({ data: { values: corners(name) }, mark: line(k), encoding: { x, y } });
  layers.push(...ended(apart(coloured.map(([name, k]) => ({ name, k, y: height * (1 - made.curves.get(name).at(-1)[1]) })), height), width, letters));
  await plot(box, { width, height, layer: layers });
}
