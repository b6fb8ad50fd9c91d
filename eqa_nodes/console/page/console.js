import { answerOf, ask, callOf, costOf, el, fixed, goalsInto, make, Picture, proofOf, tell } from "./lib.js";
import { showPast } from "./past.js";
import { showPlace } from "./place.js";
import { note, prepareVoice, say } from "./voice.js";

const RETRY_MS = 2000, STOP_AGAIN_MS = 300, STOP_TRIES = 20;
const camera = new Picture(el("camera"), 150, text => { el("camera-note").textContent = text; });
const map = new Picture(el("map"), 400);
const SILENT_MS = 3500;  // the console sends something every second
const own = new Set();  // the questions of this page, whose answers may be read aloud
const chat = [...crypto.getRandomValues(new Uint32Array(4))].join("-");  // "it" refers to the last question of this page
let heard = 0, sampled = null;
let live = { ready: false, troubles: [] }, questions = [], drawn = "", called = "", lost = false, events = null, heartbeat = null;

// A page that nobody sees listens to nothing: a browser opens six connections to one console, and a stop needs one.
function connect() {
  if (document.hidden || events !== null) return;
  events = new EventSource("/events");
  const mine = events;
  heard = performance.now();
  for (const name of ["open", "live", "questions", "beat"]) events.addEventListener(name, () => { heard = performance.now(); });
  events.addEventListener("open", () => { lost = false; tell(""); link(); });
  events.addEventListener("live", event => { live = JSON.parse(event.data); showLive(); });
  events.addEventListener("questions", event => { questions = JSON.parse(event.data); showQuestions(); });
  events.addEventListener("error", () => lose(mine));
}

const UNREACHABLE = "The console cannot be reached: it was ended, or the network is down. This page tries again.";
async function lose(mine) {
  mine?.close();
  if (mine === null || events !== mine) return;
  events = null;
  lost = true;
  link();
  if (!navigator.onLine) tell(UNREACHABLE);
  try { await ask("/runs", undefined, SILENT_MS); } catch (error) {
    tell(error instanceof TypeError || error.name === "TimeoutError" ? UNREACHABLE : error.message);
  }
  setTimeout(connect, RETRY_MS);
}

// A network that is gone closes no connection: silence is what shows it.
setInterval(() => { if (events !== null && performance.now() - heard > SILENT_MS) lose(events); }, 500);
addEventListener("offline", () => lose(events));

function link() {
  const busy = live.running || questions.some(q => q.state === "asking");
  const now = lost ? "lost" : live.ready ? (busy ? "busy" : "ready") : "starting";
  stopButton();
  el("link").className = "link " + now;
  el("link").lastElementChild.textContent = now === "lost" ? "not connected" : now === "starting" ? "the robot is starting"
    : (live.place ? live.place + " · " : "") + (busy ? "looking for the answer" : "ready");
}

function showLive() {
  link();
  beat();
  const troubles = live.troubles.join("; ");
  if (el("troubles").textContent !== troubles) el("troubles").textContent = troubles;
  el("troubles").hidden = !troubles;
  if (!live.ready) return;
  showSamples();
  if (!document.hidden && !el("now").hidden) {
    if (live.camera) camera.show("/live/camera.jpg", live.camera);
    map.show("/live/map.svg", live.map);
  }
  if (!document.hidden && !el("place").hidden) showPlace(live);
  const known = JSON.stringify(live.goals);
  if (known !== drawn) {
    drawn = known;
    goalsInto(el("goals"), [...live.goals].reverse());
    el("goals").scrollTop = 0;
    el("no-goals").hidden = live.goals.length > 0;
  }
  showCall();
  showInquiry();
  const refused = Object.entries(live.refused).map(([what, count]) => `${count} × ${what}`);
  el("refused").hidden = !refused.length;
  el("refused").textContent = "could not be used: " + refused.join("; ");
  elsewhere();
}

// A few questions to try, where the place's simulator knows some.
async function showSamples() {
  if (sampled === live.place) return;
  sampled = live.place;
  let texts = [];
  try { texts = await ask("/samples"); } catch { texts = []; }  // they are no more than a help
  if (sampled !== live.place) return;
  el("samples").hidden = texts.length === 0;
  el("samples").replaceChildren(...texts.map(text => make("button", { type: "button", className: "sample", textContent: text, onclick: () => {
    write(text);
    el("ask").requestSubmit();
  } })));
}

// The newest call of the running question; what has not changed stays, so that its pictures do not load again.
function showCall() {
  const call = live.running ? live.call : null, now = JSON.stringify(call);
  el("call").hidden = !call;
  if (!call || now === called) return;
  called = now;
  el("call").replaceChildren(...callOf(call));
}

// What the robot asks a person. The buttons stay while the seconds run, so that a tap does not miss them.
let inquiry = "";
function showInquiry() {
  const asked = live.inquiry;
  el("inquiry").hidden = !asked;
  if (asked) el("inquiry-left").textContent = `${asked.left_s} s left to reply; ${asked.kind === "may_i_drive" ? "without a reply it does not drive" : "without a reply it takes the question as it was asked"}`;
  if ((asked?.id ?? "") === inquiry) return;
  inquiry = asked?.id ?? "";
  el("inquiry-text").textContent = asked?.text ?? "";
  el("choices").replaceChildren(...(asked?.options ?? []).map((text, k) => make("button", { type: "button", textContent: text, className: k ? "" : "main",
    onclick: () => act("/inquiries/" + encodeURIComponent(asked.id), { option: k + 1 }) })));
}

// A question that another client asks is watched here too; the stop button stops it.
function elsewhere() {
  stopButton();
  const ours = questions.some(q => q.state === "asking");
  let note = el("elsewhere");
  if (!live.running || ours) { note?.remove(); return; }
  note ??= el("current").insertAdjacentElement("beforebegin", make("p", { id: "elsewhere", className: "card soft" }));
  note.textContent = "Asked elsewhere: " + live.question;
}

function showQuestions() {
  link();
  elsewhere();
  const asking = questions.find(q => q.state === "asking");
  const waiting = questions.filter(q => q.state === "waiting").reverse();
  const ended = questions.filter(q => q.state === "ended");
  const first = asking ?? ended[0];
  fill(el("current"), [...(first ? [first] : []), ...waiting]);
  fill(el("entries"), ended.filter(q => q !== first));
  for (const q of ended) if (own.delete(q.id) && q.error !== "CANCELED") say(q.spoken);
  const aloud = ended[0] ? `${ended[0].question} ${ended[0].error || ended[0].answer || "I do not know."}` : "";
  if (el("aloud").textContent !== aloud) el("aloud").textContent = aloud;
  el("history").hidden = !el("entries").childElementCount;
  stopButton();
}

// With --dead-man the console stops the robot if no page sends this.
function beat() {
  if (!live.heartbeat_s || heartbeat !== null) return;
  heartbeat = setInterval(() => { ask("/alive", {}).catch(() => {}); }, 1000 * live.heartbeat_s);
}

// A stop is sent again until the console has it: the network may be bad just then.
async function stop() {
  for (let left = STOP_TRIES; left > 0; left--) {
    try { await ask("/stop", {}); tell(""); return; } catch (error) { tell(error.message); }
    await new Promise(done => setTimeout(done, STOP_AGAIN_MS));
  }
}

// It stops the robot: whatever runs and waits, also what others ask. Without live news it may be running.
function stopButton() {
  const open = questions.filter(q => q.state !== "ended");
  const stopping = open.length > 0 && open.every(q => q.stopping);
  el("stop").hidden = !(lost || live.running || open.some(q => q.state === "asking"));
  el("stop").disabled = stopping && !lost;
  el("stop").textContent = stopping ? "Stopping" : "Stop";
  el("stop").onclick = stop;
}

// Cards that did not change stay as they are: pictures do not load again, and what is read aloud is new.
function fill(parent, entries) {
  const there = new Map([...parent.children].map(card => [card.dataset.is, card]));
  parent.replaceChildren(...entries.map(entry => {
    const is = JSON.stringify(entry);
    if (there.has(is)) return there.get(is);
    const made = card(entry);
    made.dataset.is = is;
    return made;
  }));
}

function card(entry) {
  const head = make("div", { className: "head" }, make("h2", { textContent: entry.words || entry.question }));
  const made = make("article", { className: "card entry " + entry.state }, head);
  if (entry.words) made.append(make("p", { className: "soft", textContent: "understood as: " + entry.question }));
  if (entry.state === "waiting") {
    head.append(takeBack(entry, "Take back"));
    made.append(make("p", { className: "soft", textContent: !live.ready ? "waits until the robot has started"
      : entry.progress?.place ? `waits at place ${entry.progress.place}` : "waits for its turn" }));
  } else if (entry.state === "asking") {
    const p = entry.progress;
    head.append(takeBack(entry, "Cancel"));
    made.append(make("p", { className: "phase" }, make("i"), make("b", { textContent: !p ? "beginning" : p.phase === "deciding" ? "asking the model" : p.phase }),
      make("span", { textContent: p && p.steps ? `${p.steps} steps · ${fixed(p.metres, 1)} m` : "" })),
      make("p", { className: "reason", textContent: p?.reason ?? "" }));
  } else {
    head.append(make("time", { textContent: new Date(1000 * entry.asked).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }) }));
    made.append(answerOf(entry), make("div", { className: "proofs" },
      ...entry.proofs.map((proof, k) => proofOf(`/questions/${entry.id}/proof/${k}.jpg`, proof))));
    if (entry.cost.way || !entry.error) made.append(costOf(entry.cost));
    if (entry.trouble) made.append(make("p", { className: "soft", textContent: entry.trouble }));
    if (entry.replay) made.append(make("a", { className: "again", href: "#past/" + entry.replay, textContent: "Replay" }));
  }
  return made;
}

function takeBack(entry, text) {
  return make("button", { type: "button", className: "back", textContent: entry.stopping ? "Stopping" : text, disabled: entry.stopping,
                          onclick: () => act(`/questions/${entry.id}/cancel`, {}) });
}

async function act(path, body) {
  try { const reply = await ask(path, body); tell(""); return reply; } catch (error) { tell(error.message); return null; }
}

async function put(event) {
  event.preventDefault();
  const text = el("text").value;
  const id = (await act("/questions", { text, chat, explore: el("explore").checked, show: el("show").checked && el("explore").checked }))?.id;
  if (id === undefined) return;
  own.add(id);
  note("");
  if (el("text").value === text) write("");
  showQuestions();
}

function write(text) {
  el("text").value = text;
  grow();
}

function grow() {
  el("text").style.height = "auto";
  el("text").style.height = el("text").scrollHeight + 2 + "px";
}

function route() {
  const past = location.hash.startsWith("#past"), view = past ? "past" : location.hash === "#place" ? "place" : "now";
  for (const name of ["now", "place", "past"]) {
    el(name).hidden = name !== view;
    if (name === view) el("to-" + name).setAttribute("aria-current", "page");
    else el("to-" + name).removeAttribute("aria-current");
  }
  if (past) showPast(location.hash.split("/").slice(1).map(decodeURIComponent));
  else showLive();
}

el("ask").addEventListener("submit", put);
prepareVoice(text => { write(text); el("text").focus(); });
el("text").addEventListener("input", grow);
el("text").addEventListener("keydown", event => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) put(event);
});
addEventListener("hashchange", route);
document.addEventListener("visibilitychange", () => {
  if (document.hidden && events !== null) { events.close(); events = null; }
  connect();
  showLive();
});
route();
connect();
