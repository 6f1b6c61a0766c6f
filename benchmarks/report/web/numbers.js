// Numbers as people read them.
const middle = (xs) => {
  const sorted = xs.filter((x) => x != null).sort((a, b) => a - b);
  return sorted.length ? (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2 : null;
};
const mean = (xs) => (xs.length ? xs.reduce((a, b) => a + b, 0) / xs.length : null);

function digits(x, n = 3) {
  if (x == null) return "–";
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  const text = x !== 0 && (Math.abs(x) < 1e-4 || Math.abs(x) >= 1e6) ? x.toExponential(Math.max(0, n - 2)).replace("e+", "e") : String(Number(x.toPrecision(n)));
  return text.replaceAll("-", "−");
}

function seconds(s) {
  if (s == null) return "–";
  return s < 1e-3 ? `${digits(s * 1e6, 2)} µs` : s < 1 ? `${digits(s * 1e3, 3)} ms` : `${digits(s, 3)} s`;
}

// A loss in per cent, for a narrow cell.
function percent(loss) {
  if (loss == null) return "";
  if (loss >= 10) return "≫";
  if (loss < 5e-4) return "<0.1";
  return loss < 0.0995 ? (100 * loss).toFixed(1) : (100 * loss).toFixed(0);
}
const worse = (loss) => (loss >= 10 ? "more than ten times the best away" : `${percent(loss)} % worse`);

// An objective as its quantity: never negated, a share in per cent.
const quantity = (instance, objective) => (objective == null ? null : instance.sign * objective + 0);
const amount = (instance, value, n = 4) => (value == null ? "–" : instance.unit === "share" ? `${digits(100 * value, n)} %` : `${digits(value, n)}${instance.unit ? ` ${instance.unit}` : ""}`);
const caseName = (one) => `${one.on.title}, ${one.on.budgetName} = ${digits(one.budget)}`;
const called = (solver) => (solver === data.auto ? "solve()" : solver);
const slug = (text) => text.toLowerCase().normalize("NFKD").replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
const few = (text, n) => (text.length > n ? `${text.slice(0, n - 1)}…` : text);
