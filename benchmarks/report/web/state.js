// What is shown: problem, hidden solvers, measure; it stands in the address, so that a copied one shows the same.
const state = { problem: data.problems.length ? data.problems[0].kind : "", hide: new Set(), measure: "value", within: 1e-6, axis: "ratio", run: "", all: false, open: new Set(), traced: -1 };
const WITHIN = { best: 1e-6, one: 0.01, ten: 0.1 };

function restore() {
  const told = new URLSearchParams(location.hash.slice(1));
  if (problems.has(told.get("problem"))) state.problem = told.get("problem");
  const known = new Set((problems.get(state.problem)?.solvers ?? []).map((s) => s.name));
  state.hide = new Set(told.getAll("hide").filter((name) => known.has(name)));
  state.measure = told.get("measure") === "short" ? "short" : "value";
  state.within = WITHIN[told.get("within")] ?? WITHIN.best;
  state.axis = told.get("time") === "seconds" ? "seconds" : "ratio";
  state.run = told.get("run") ?? "";
}

function remember(step = false) {
  const told = new URLSearchParams({ problem: state.problem });
  for (const name of state.hide) told.append("hide", name);
  if (state.measure !== "value") told.set("measure", state.measure);
  const within = Object.keys(WITHIN).find((name) => WITHIN[name] === state.within);
  if (within !== "best") told.set("within", within);
  if (state.axis !== "ratio") told.set("time", state.axis);
  if (state.run) told.set("run", state.run);
  history[step ? "pushState" : "replaceState"](null, "", `#${told}`);
}

function choose(problem) {
  if (problem === state.problem) return;
  Object.assign(state, { problem, run: "", all: false });
  state.hide.clear();
  state.open.clear();
}
