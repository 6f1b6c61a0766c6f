// Cost by size: seconds of the answers of a family with at least three sizes, with the fitted power of the size.
const SIZES = 3;

function families(view) {
  const sizes = new Map();
  for (const one of view.cases) if (one.family) (sizes.get(one.family) ?? sizes.set(one.family, new Set()).get(one.family)).add(one.size);
  return [...sizes].filter(([, own]) => own.size >= SIZES).map(([name]) => name);
}

const finished = (row) => row.answered && row.seconds > 0 && row.seconds < row.limit && row.of.size > 0;

// seconds = a size^power by least squares on logarithms; null below three sizes.
function power(points) {
  if (new Set(points.map((p) => p.x)).size < SIZES) return null;
  const [xs, ys] = [points.map((p) => Math.log(p.x)), points.map((p) => Math.log(p.y))];
  const [mx, my] = [mean(xs), mean(ys)];
  const slope = xs.reduce((sum, x, i) => sum + (x - mx) * (ys[i] - my), 0) / xs.reduce((sum, x) => sum + (x - mx) ** 2, 0);
  return { slope, at: (x) => Math.exp(my + slope * (Math.log(x) - mx)) };
}

async function cost(view, family, box) {
  const bySolver = shown(view).map((s) => ({ name: s.name, k: view.look.get(s.name) ?? 0, points: s.rows.filter((row) => row.of.family === family && finished(row)).map((row) => ({ solver: s.name, x: row.of.size, y: row.seconds })).sort((a, b) => a.x - b.x) })).filter((s) => s.points.length);
  box.columns = ["solver", "size", "seconds"];
  box.lines = bySolver.flatMap((s) => s.points.map((p) => [s.name, p.x, p.y]));
  box.words = { x: "size", y: "seconds", log: true, logx: true, marks: true };
  const fits = bySolver.map((s) => ({ ...s, fit: power(s.points) }));
  box.setAttribute("aria-label", `Seconds by size. ${fits.map((s) => `${called(s.name)}: ${s.fit ? `size to the power ${s.fit.slope.toFixed(1)}` : `${s.points.length} runs`}`).join("; ")}`);
  if (!fits.length) { box.view?.finalize(); box.innerHTML = `<p class="note">No finished run of the solvers shown.</p>`; return; }
  const all = fits.flatMap((s) => s.points);
  const dx = [Math.min(...all.map((p) => p.x)), Math.max(...all.map((p) => p.x))];
  const dy = [Math.min(...all.map((p) => p.y)) / 1.4, Math.max(...all.map((p) => p.y)) * 1.4];
  const coloured = fits.filter((s) => s.k);
  const label = (s) => (s.fit ? `${s.name} n^${s.fit.slope.toFixed(1)}` : s.name);
  const { letters, pixels } = margin(coloured.map(label), box.clientWidth || 480);
  const [height, width] = [HEIGHT, Math.max(120, (box.clientWidth || 340) - pixels - 54)];
  const x = { field: "x", type: "quantitative", title: "size", scale: { type: "log", domain: dx, nice: false }, axis: { format: "~g", values: [...new Set(all.map((p) => p.x))].sort((a, b) => a - b), labelOverlap: true, grid: false } };
  const y = { field: "y", type: "quantitative", title: null, scale: { type: "log", domain: dy, nice: false }, axis: { tickCount: 5, format: "~g", domain: false, ticks: false } };
  const line = (s) => (s.fit ? [dx[0], ...s.points.map((p) => p.x)].length && [s.points[0].x, s.points.at(-1).x].map((size) => ({ n: s.name, x: size, y: s.fit.at(size) })) : []);
  const layers = [
    { data: { values: fits.filter((s) => !s.k).flatMap(line) }, mark: { type: "line", clip: true, ...stroke(0) }, encoding: { x, y, detail: { field: "n" } } },
    { data: { values: fits.filter((s) => !s.k).flatMap((s) => s.points) }, mark: { type: "point", filled: true, size: 14, color: colour("grey"), opacity: 1 }, encoding: { x, y } },
  ];
  for (const s of [...coloured].reverse()) layers.push(
    { data: { values: line(s) }, mark: { type: "line", clip: true, ...stroke(s.k) }, encoding: { x, y } },
    { data: { values: s.points }, mark: { type: "point", filled: true, size: 28, color: tint(s.k), opacity: 1 }, encoding: { x, y } });
  layers.push(...ended(apart(coloured.map((s) => ({ name: label(s), k: s.k, y: height - scaled(s.points.at(-1).y, dy, height, true) })), height), width, letters));
  await plot(box, { width, height, layer: layers });
}
