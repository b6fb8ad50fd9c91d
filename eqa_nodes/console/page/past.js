import { answerOf, ask, costOf, el, fixed, goalsInto, make, Picture, shot, tell } from "./lib.js";

const PLAY_MS = 120;
const view = new Picture(el("replay-view"), 60), map = new Picture(el("replay-map"), 60);
let episode = null, base = "", timer = null;

// words: nothing, a run, or a run and the number of an episode.
export async function showPast(words) {
  try {
    const runs = await ask("/runs"), run = words[0] ?? runs[0]?.name;
    el("run").replaceChildren(...runs.map(r => make("option", { value: r.name, textContent:
      `${r.name} · ${new Date(1000 * r.changed).toLocaleString([], { dateStyle: "medium", timeStyle: "short" })}` })));
    el("run").disabled = !runs.length;
    if (!runs.length) { empty("There is nothing to replay yet: what is asked here is kept, and eqa bench run makes more."); return; }
    el("run").value = run;
    await list(run, words[1]);
    if (words[1] !== undefined) await replay(run, Number(words[1]));
    else leave();
    tell("");
  } catch (error) {
    tell(error.message);
  }
}

function empty(text) {
  el("no-episodes").textContent = text;
  el("no-episodes").hidden = !text;
}

async function list(run, chosen) {
  const episodes = await ask("/runs/" + encodeURIComponent(run));
  empty(episodes.length ? "" : "Nothing was asked in this run yet.");
  el("episodes").replaceChildren(...episodes.map((e, n) => {
    const line = make(e.replay ? "a" : "div", {}, make("b", { textContent: e.question }), make("span", { textContent:
      e.error ? e.error.replaceAll("_", " ").toLowerCase() : e.abstained ? "I do not know" : e.answer }),
      make("small", { textContent: [e.place, e.cost.way, e.replay ? "" : "no trace was kept"].filter(Boolean).join(" · ") }));
    if (e.replay) line.href = `#past/${encodeURIComponent(run)}/${n}`;
    if (String(n) === chosen) line.setAttribute("aria-current", "true");
    return make("li", {}, line);
  }));
}

function leave() {
  stop();
  episode = null;
  el("replay").hidden = true;
}

async function replay(run, number) {
  stop();
  base = `/runs/${encodeURIComponent(run)}/${number}`;
  episode = await ask(base);
  el("replay").hidden = false;
  el("replay-question").textContent = episode.question;
  el("replay-place").textContent = [episode.place, episode.reference && "right answer: " + episode.reference].filter(Boolean).join(" · ");
  goalsInto(el("replay-goals"), episode.goals);
  el("replay-answer").replaceChildren(answerOf(episode), make("div", { className: "proofs" }, ...episode.proofs.map(proof =>
    make("figure", { className: "proof" }, shot(`${base}/view/${proof.view}.jpg`, "evidence: " + proof.note, proof.outlines),
      make("figcaption", {}, make("b", { textContent: "Seen: " }), proof.note)))), costOf(episode.cost));
  el("slider").max = Math.max(episode.moments.length - 1, 0);
  el("slider").value = 0;
  moment();
  el("replay-question").focus({ preventScroll: true });
  if (matchMedia("(max-width: 900px)").matches) el("replay").scrollIntoView();
}

function moment() {
  const at = Number(el("slider").value), now = episode.moments[at], last = at === episode.moments.length - 1;
  if (!now) { el("replay-reason").textContent = "No way was recorded."; return; }
  map.show(`${base}/map/${at}.svg`, `${base} ${at}`);
  if (now.view >= 0) view.show(`${base}/view/${now.view}.jpg`, `${base} ${now.view}`);
  el("clock").textContent = `${fixed(now.s, 1)} s · ${fixed(now.m, 1)} m`;
  const goal = episode.goals.find(g => g.n === now.goal);
  el("replay-reason").textContent = last ? "The end: it answers." : goal ? `${goal.n}. ${goal.reason}` : episode.goals.length || episode.cost.way ? "It looks around first." : "The recording goes on.";
  for (const item of el("replay-goals").children) item.classList.toggle("now", Number(item.dataset.n) === now.goal && !last);
  el("replay-answer").hidden = !last;
}

function stop() {
  clearInterval(timer);
  timer = null;
  el("play").textContent = "Play";
  el("play").setAttribute("aria-pressed", "false");
}

function play() {
  if (timer !== null) { stop(); return; }
  const slider = el("slider");
  if (slider.value === slider.max) slider.value = 0;
  el("play").textContent = "Pause";
  el("play").setAttribute("aria-pressed", "true");
  timer = setInterval(() => {
    slider.value = Number(slider.value) + 1;
    moment();
    if (slider.value === slider.max) stop();
  }, PLAY_MS);
}

el("play").addEventListener("click", play);
el("slider").addEventListener("input", () => { stop(); moment(); });
el("run").addEventListener("change", () => { location.hash = "past/" + encodeURIComponent(el("run").value); });
