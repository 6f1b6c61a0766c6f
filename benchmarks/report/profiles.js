"use strict";
// Performance profiles of the rows given: ratios of seconds, or differences of objectives, to the best among them.
function profile(rows, kind) {
  const timed = kind === "time";
  const costs = new Map();
  const best = new Map();
  for (const row of rows) {
    if (!costs.has(row.solver)) costs.set(row.solver, new Map());
    const answers = timed ? row.reached && row.seconds !== null : row.verified && Number.isFinite(row.objective);
    if (!answers) continue;
    const task = JSON.stringify([row.suite, row.instance, row.budget, row.seed, row.time_limit].map(String));
    const cost = timed ? Math.max(row.seconds, run.tick) : -row.objective;
    costs.get(row.solver).set(task, cost);
  }
  for (const own of costs.values()) {
    for (const [task, cost] of own) if (!best.has(task) || cost < best.get(task)) best.set(task, cost);
  }
  const least = timed ? 1 : run.least;
  const compare = (cost, top) => (timed ? cost / top : Math.max(cost - top, run.least));
  const names = [...costs.keys()].sort((a, b) => (a < b ? -1 : 1));
  const apart = names.map((name) => [...costs.get(name)].map(([task, cost]) => compare(cost, best.get(task))).sort((a, b) => a - b));
  const last = Math.max(least, ...apart.map((values) => (values.length ? values[values.length - 1] : least)));
  const curves = names.flatMap((name, i) => steps(apart[i], best.size, least, last).map(([tau, share]) => ({ solver: name, tau, share })));
  return { curves, solvers: names.length, tasks: best.size };
}

function steps(values, tasks, least, last) {
  if (tasks === 0) return [];
  const shares = new Map([[least, 0]]);
  values.forEach((x, i) => shares.set(x, (i + 1) / tasks));
  if (!shares.has(last)) shares.set(last, values.length / tasks);
  return [...shares];
}
