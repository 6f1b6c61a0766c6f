// Every problem on paper: each is drawn in turn and copied as it stands, then printed; afterwards the copies go.
function copied() {
  const made = document.createElement("section");
  made.append($("#panel").cloneNode(true));
  for (const part of $$("*", made)) {
    if (part.closest("svg")) continue;
    for (const name of ["id", "aria-labelledby", "aria-controls"]) part.removeAttribute(name);
  }
  return made;
}

async function printAll() {
  const kept = { ...state, hide: new Set(state.hide), open: new Set(state.open) };
  const all = Object.assign(document.createElement("div"), { id: "printed", inert: true });
  for (const kind of problems.keys()) {
    say(`Drawing ${all.children.length + 1} of ${problems.size}…`);
    choose(kind);
    state.all = true;
    await draw();
    if (root.dataset.drawn !== "yes" || state.problem !== kind) return say("Printing was left off.");
    all.append(copied());
  }
  Object.assign(state, kept);
  await draw();
  hush();
  $("#view").after(all);
  addEventListener("afterprint", () => all.remove(), { once: true });
  print();
}
