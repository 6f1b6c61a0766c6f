// Fast and good: a dot a solver; the steps join those that answer all cases and that no other beats in both.
const FLOOR = 1e-4; // per cent; what is nearer to the best is drawn as best

function dots(view) {
  return shown(view).filter((s) => s.good.length && s.seconds != null).map((s) => ({
    name: s.name, x: Math.max(s.seconds, 1e-6), y: Math.min(Math.max(FLOOR, 100 * s.loss), 1e4), k: view.look.get(s.name) ?? 0,
    auto: s.name === data.auto, whole: s.answered === view.cases.length, answered: s.answered,
  }));
}

const front = (all) => {
  const whole = all.filter((d) => d.whole);
  return whole.filter((d) => !whole.some((e) => e !== d && e.x <= d.x && e.y <= d.y && (e.x < d.x || e.y < d.y))).sort((a, b) => a.x - b.x);
};

async function speed(view, box) {
  const all = dots(view);
  box.columns = ["solver", "seconds", "percent_worse", "answered"];
  box.lines = all.map((d) => [d.name, d.x, d.y, d.answered]);
  box.words = { x: "seconds", y: "per cent worse than the best", marks: true };
  box.setAttribute("aria-label", `Speed and quality. ${all.map((d) => `${called(d.name)}: ${seconds(d.x)}, ${d.y <= FLOOR ? "best" : `${digits(d.y, 2)} % worse`}, answers ${d.answered} of ${view.cases.length}`).join("; ")}`);
  if (!all.length) { box.view?.finalize(); box.innerHTML = `<p class="note">No certified answer of the solvers shown.</p>`; return; }
  const [height, width] = [250, (box.clientWidth || 480) - 62];
  const xs = all.map((d) => d.x);
  const top = Math.max(120, ...all.map((d) => 1.5 * d.y));
  const domain = [Math.min(...xs) / 1.6, Math.max(...xs) * 2.6];
  const x = { field: "x", type: "quantitative", title: "seconds", scale: { type: "log", domain, nice: false }, axis: { format: "~g", values: [-5, -4, -3, -2, -1, 0, 1, 2, 3].map((e) => 10 ** e).filter((t) => t > domain[0] && t < domain[1]) } };
  const y = { field: "y", type: "quantitative", title: null, scale: { type: "log", domain: [top, FLOOR / 1.7], nice: false }, axis: { values: [FLOOR, 0.01, 0.1, 1, 10, 100, 1000].filter((t) => t <= top), labelExpr: `datum.value <= ${FLOOR} ? 'best' : datum.value + ' %'`, domain: false, ticks: false } };
  const best = front(all);
  const hue = { field: "hue", type: "nominal", legend: null, scale: { domain: [0, 1, 2, 3, 4, 5, 6], range: [...inks(), colour("ink")] } };
  const shape = { field: "auto", type: "nominal", legend: null, scale: { domain: [false, true], range: ["circle", "diamond"] } };
  const marked = all.map((d) => ({ ...d, hue: d.auto ? 6 : d.k }));
  const layers = [{ data: { values: best }, mark: { type: "line", color: colour("line"), strokeWidth: 6, interpolate: "step-after", opacity: 0.8 }, encoding: { x, y } }];
  for (const whole of [true, false]) layers.push({ data: { values: marked.filter((d) => d.whole === whole) }, mark: { type: "point", filled: whole, size: 80, strokeWidth: 2, opacity: 1, ...(whole ? {} : { fill: colour("ground") }) }, encoding: { x, y, color: hue, shape } });
  const at = (d) => ({ px: scaled(d.x, domain, width, true), py: scaled(d.y, [FLOOR / 1.7, top], height, true) });
  for (const p of placed(marked.filter((d) => d.k || d.auto || best.some((b) => b.name === d.name)), marked, at, width, height)) {
    const place = { align: p.right ? "left" : "right", fontWeight: p.d.k === 1 ? 600 : 400 };
    layers.push(word(p.text, p.px, p.py, colour("ground"), { ...place, stroke: colour("ground"), strokeWidth: 4, opacity: 0.9 }), word(p.text, p.px, p.py, p.d.auto ? colour("ink") : p.d.k ? tint(p.d.k) : colour("soft"), place));
  }
  await plot(box, { width, height, layer: layers });
}

// Names beside their dots, right where there is room, moved until they cover neither a name nor a dot; left out where that fails.
function placed(named, all, at, width, height) {
  const boxes = all.map((d) => { const { px, py } = at(d); return [px - 5, px + 5, py - 5, py + 5]; });
  const put = [];
  for (const d of [...named].sort((a, b) => b.auto - a.auto || (a.k || 9) - (b.k || 9))) {
    const { px, py } = at(d);
    const text = few(called(d.name), 24);
    const long = 6.6 * text.length;
    const tries = [true, false].flatMap((right) => [0, 13, -13, 26, -26].map((dy) => ({ right, px: px + (right ? 9 : -9), py: py + dy })));
    const fits = ({ right, px: tx, py: ty }) => {
      const [a, b] = right ? [tx, tx + long] : [tx - long, tx];
      return a > -4 && b < width + 8 && ty > 4 && ty < height - 2 && !boxes.some(([l, r, t, u]) => l < b && a < r && t < ty + 6 && ty - 6 < u);
    };
    const one = tries.find(fits);
    if (!one) continue;
    boxes.push(one.right ? [one.px, one.px + long, one.py - 6.5, one.py + 6.5] : [one.px - long, one.px, one.py - 6.5, one.py + 6.5]);
    put.push({ ...one, text, d });
  }
  return put;
}
