// One instance: its quantity by budget, a line a solver; with one budget, ranked dots.
const LEAST = 1e-9;
const HEIGHT = 190;

function measured(row, objective = level(row)) {
  return state.measure === "value" ? quantity(row.of.on, objective) : Math.max(LEAST, (row.of.bound ?? row.of.best) - objective);
}

const ascending = (values) => values.sort((a, b) => a - b);

// The quartiles of a coloured solver's repetitions, as bars.
function bars(points, encoding) {
  const own = points.filter((p) => p.k && p.ends);
  if (!own.length) return [];
  const color = { field: "k", type: "nominal", legend: null, scale: { domain: [0, 1, 2, 3, 4, 5], range: inks() } };
  return [{ data: { values: own.map(({ solver, budget, k, ends: [low, high] }) => ({ solver, budget, k, low, high })) }, mark: { type: "rule", strokeWidth: 5, opacity: 0.45 }, encoding: { ...encoding, color } }];
}

async function frontier(view, instance, box) {
  const own = view.cases.filter((one) => one.on === instance).sort((a, b) => a.budget - b.budget);
  const points = shown(view).flatMap((s) => own.map((one) => s.entries.get(one.index)).filter((row) => row?.loss != null).map((row) => ({ solver: s.name, budget: row.of.budget, value: measured(row), k: view.look.get(s.name) ?? 0, row, ends: row.spread && ascending(row.spread.objective.slice(1).map((x) => measured(row, x))) })));
  const ends = points.some((p) => p.ends);
  box.columns = ["solver", "budget", state.measure === "value" ? instance.quantity : "distance_to_the_bound", "bound", ...(ends ? ["lower_quartile", "upper_quartile"] : [])];
  box.lines = points.map((p) => [p.solver, p.budget, p.value, quantity(instance, p.row.of.bound), ...(ends ? p.ends ?? [null, null] : [])]);
  box.words = { x: instance.budgetName, y: axisName(instance), log: state.measure === "short" };
  box.hover = null;
  if (!points.length) { box.view?.finalize(); box.innerHTML = `<p class="note">No certified answer of the solvers shown.</p>`; return; }
  await (own.length > 1 ? curves(view, instance, box, own, points) : ranks(view, instance, box, own[0], points));
}

const axisName = (instance) => (state.measure === "short" ? "distance to the bound" : `${instance.quantity}${instance.unit && instance.unit !== "share" ? ` (${instance.unit})` : ""}`);

const scale = (domain, log) => ({ domain, nice: false, ...(log ? { type: "log" } : { type: "linear", zero: false }) });

// The domain of values: from 0 only where the least is small beside the largest.
function extent(values, alike = 1e-4) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = high - low > alike * Math.abs(high) ? (high - low) * 0.06 : Math.abs(high) * 0.1 || 0.1;
  return [low >= 0 && low < 0.45 * high ? 0 : low - room, high + room];
}

function heights(instance, values) {
  const log = state.measure === "short";
  const domain = log ? [LEAST, Math.max(1e-2, 1.5 * Math.max(...values))] : extent(values);
  const axis = { tickCount: 5, domain: false, ticks: false, format: log ? ".0e" : instance.unit === "share" ? ".0~%" : ".4~g" };
  if (log) axis.values = [1e-9, 1e-7, 1e-5, 1e-3, 1e-1, 10, 1000].filter((x) => x < domain[1]);
  return { domain, log, encoding: { field: "value", type: "quantitative", title: null, scale: scale(domain, log), axis } };
}

function budgets(instance, values) {
  const wide = values[0] > 0 && values.at(-1) / values[0] > 8;
  return { field: "budget", type: "quantitative", title: instance.budgetName, scale: scale([values[0], values.at(-1)], wide), axis: { values, labelExpr: "format(datum.value, '.3~g')", grid: false, labelOverlap: true } };
}

async function curves(view, instance, box, own, points) {
  const edge = own.map((one) => ({ budget: one.budget, bound: quantity(instance, one.bound), best: quantity(instance, one.best) }));
  const known = state.measure === "value" ? edge.filter((e) => Number.isFinite(e.bound) && e.bound != null && e.best != null) : [];
  const { domain, log, encoding: y } = heights(instance, [...points.flatMap((p) => [p.value, ...(p.k && p.ends ? p.ends : [])]), ...known.flatMap((e) => [e.bound, e.best])]);
  const x = budgets(instance, own.map((one) => one.budget));
  const coloured = [...view.look].filter(([name]) => points.some((p) => p.solver === name));
  const { letters, pixels } = margin(coloured.map(([name]) => name), box.clientWidth || 340);
  const width = Math.max(120, (box.clientWidth || 340) - pixels - 44);
  const ends = coloured.map(([name, k]) => ({ name, k, y: HEIGHT - scaled(points.filter((p) => p.solver === name).at(-1).value, domain, HEIGHT, log) }));
  const layers = [];
  if (known.length > 1) layers.push(
    { data: { values: known }, mark: { type: "area", color: colour("grey"), opacity: 0.35 }, encoding: { x, y: { ...y, field: "bound" }, y2: { field: "best" } } },
    { data: { values: known }, mark: { type: "line", color: colour("faint"), strokeDash: [4, 3], strokeWidth: 1.2 }, encoding: { x, y: { ...y, field: "bound" } } });
  layers.push({ data: { values: points.filter((p) => !p.k) }, mark: { type: "line", ...stroke(0) }, encoding: { x, y, detail: { field: "solver" } } });
  layers.push(...bars(points, { x, y: { ...y, field: "low" }, y2: { field: "high" } }));
  for (const [name, k] of coloured.reverse()) layers.push({ data: { values: points.filter((p) => p.solver === name) }, mark: { type: "line", ...stroke(k), point: { filled: true, color: tint(k), size: k === 1 ? 34 : 26 } }, encoding: { x, y } });
  layers.push(...ended(apart(ends, HEIGHT), width, letters));
  box.hover = { budgets: own.map((one) => one.budget), at: (i) => beside(view, own[i]) };
  await plot(box, { width, height: HEIGHT, layer: layers });
}

// Every solver shown at one case, in order of value, for the tip.
function beside(view, one) {
  const list = shown(view).map((s) => s.entries.get(one.index)).filter((row) => row?.loss != null).sort((a, b) => level(b) - level(a));
  const within = (row) => (row.spread ? ` [${ascending(row.spread.objective.slice(1).map((x) => quantity(one.on, x))).map((x) => amount(one.on, x)).join(", ")}]` : "");
  const line = (dot, name, value, said) => `<tr><td>${dot}</td><td>${escaped(name)}</td><td class="n">${value}</td><td class="n soft">${said}</td></tr>`;
  const bound = one.bound == null ? "" : line("", "proved bound", amount(one.on, quantity(one.on, one.bound)), "");
  return `<b>${escaped(one.on.budgetName)} = ${digits(one.budget)}</b><table>${bound}${list.map((row) => line(`<i style="background:var(--${view.look.has(row.solver) ? `s${view.look.get(row.solver)}` : "grey"})"></i>`, called(row.solver), amount(one.on, quantity(one.on, level(row))) + within(row), BEST.has(row.kind) ? "best" : HOLDS.has(row.kind) ? "≈ best" : worse(row.loss))).join("")}</table>`;
}

// One budget: no curve. The values ranked, the bound as a line.
async function ranks(view, instance, box, one, points) {
  const order = points.sort((a, b) => level(b.row) - level(a.row) || b.k - a.k);
  const list = [...new Set([...order.filter((p) => p.k), ...order])].slice(0, 9).sort((a, b) => level(b.row) - level(a.row) || b.k - a.k);
  const values = list.flatMap((p) => [p.value, ...(p.k && p.ends ? p.ends : [])]);
  const log = state.measure === "short";
  const bound = log ? null : quantity(instance, one.bound);
  const domain = log ? [LEAST / 2, Math.max(1e-2, 3 * Math.max(...values))] : extent([...values, ...(Number.isFinite(bound) && bound != null ? [bound] : [])], 5e-3);
  const { letters, pixels } = margin(list.map((p) => called(p.solver)), box.clientWidth || 340);
  const width = Math.max(90, (box.clientWidth || 340) - pixels - 62);
  const x = { field: "value", type: "quantitative", title: axisName(instance), scale: scale(domain, log), axis: { tickCount: 4, labelOverlap: true, format: log ? ".0e" : instance.unit === "share" ? ".0~%" : ".4~g" } };
  const y = { field: "solver", type: "nominal", sort: list.map((p) => p.solver), title: null, axis: { domain: false, ticks: false, labelLimit: pixels, labelExpr: `length(datum.value) > ${letters} ? slice(datum.value, 0, ${letters - 1}) + '…' : datum.value === '${data.auto}' ? 'solve()' : datum.value` } };
  const layers = [];
  if (Number.isFinite(bound) && bound != null) layers.push({ data: { values: [{ value: bound }] }, mark: { type: "rule", color: colour("faint"), strokeDash: [4, 3] }, encoding: { x } });
  layers.push(...bars(list, { y, x: { ...x, field: "low" }, x2: { field: "high" } }));
  layers.push({ data: { values: list }, mark: { type: "point", filled: true, size: 70, opacity: 1 }, encoding: { x, y, color: { field: "k", type: "nominal", legend: null, scale: { domain: [0, 1, 2, 3, 4, 5], range: inks() } } } });
  const near = (p) => scaled(p.ends ? p.ends[1] : p.value, domain, width, log) > width - 50;
  const beyond = (p, left) => (p.k && p.ends ? p.ends[left ? 0 : 1] : p.value);
  for (const left of [true, false]) layers.push({ data: { values: list.filter((p) => near(p) === left).map((p) => ({ ...p, value: beyond(p, left), text: log ? digits(p.value, 2) : amount({ ...instance, unit: instance.unit === "share" ? "share" : "" }, p.value, 3) })) }, mark: { type: "text", align: left ? "right" : "left", dx: left ? -8 : 8, fill: colour("soft") }, encoding: { x, y, text: { field: "text" } } });
  await plot(box, { width, height: 22 * Math.max(3, list.length), layer: layers });
}
