// Spoken questions: the browser records, the console recognises, and the words go into the question's field. Answers read aloud.
import { ask, el } from "./lib.js";

const RATE_HZ = 16000;
const REFUSED = { NotAllowedError: "The browser does not give the microphone to this page: allow it in the settings of the page.",
  NotFoundError: "This device has no microphone.", NotReadableError: "The microphone cannot be used: another program may hold it." };
let recorder = null;

// What the page says under the question about its microphone and its voice.
export function note(text) {
  el("voice").textContent = text;
  el("voice").hidden = !text;
}

// write: puts the recognised words where a person can correct them.
export function prepareVoice(write) {
  el("mic").addEventListener("click", async () => {
    if (recorder?.state === "recording") { recorder.stop(); return; }
    el("mic").disabled = true;
    try { await listen(write); } catch (error) { note(REFUSED[error.name] ?? error.message); }
    el("mic").disabled = false;
  });
  document.addEventListener("visibilitychange", () => { if (document.hidden) recorder?.stop(); });
  el("speak").parentElement.hidden = !("speechSynthesis" in window);
  el("speak").addEventListener("change", tryVoice);
}

async function listen(write) {
  if (!navigator.mediaDevices?.getUserMedia) {
    throw new Error("Browsers give the microphone only to pages over HTTPS or on localhost: start the console with --tls-cert and --tls-key.");
  }
  note("One moment");
  const { most_s } = await ask("/speech");  // says what is missing before anything is recorded
  const stream = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1 } });
  const sound = await recorded(stream, most_s).finally(() => stream.getTracks().forEach(track => track.stop()));
  note("Recognising the words");
  const { text } = await ask("/speech", { wav: await base64(await toWav(sound)) });
  if (text) write(text);
  note(text ? "Check the words, then press Ask." : "No words were recognised: speak nearer to the microphone.");
}

async function recorded(stream, most_s) {
  const parts = [];
  recorder = new MediaRecorder(stream);
  recorder.addEventListener("dataavailable", event => parts.push(event.data));
  const stopped = new Promise((done, failed) => { recorder.onstop = done; recorder.onerror = event => failed(event.error ?? new Error("the recording failed")); });
  recorder.start();
  const timer = setTimeout(() => recorder?.stop(), 1000 * most_s);
  shown(true);
  note(`Listening. Press the button again when you have asked (${most_s} s at most).`);
  try { await stopped; } finally { clearTimeout(timer); recorder = null; shown(false); }
  return new Blob(parts, { type: parts[0]?.type });
}

function shown(listening) {
  el("mic").disabled = !listening;
  el("mic").setAttribute("aria-pressed", listening);
  el("mic").title = listening ? "end the recording" : "speak the question";
  el("mic").setAttribute("aria-label", el("mic").title);
}

// Whatever format the browser records becomes one channel of 16 bits: a context of that rate resamples what it decodes.
async function toWav(sound) {
  const decoded = await new OfflineAudioContext(1, 1, RATE_HZ).decodeAudioData(await sound.arrayBuffer());
  const samples = decoded.getChannelData(0), size = 2 * samples.length, wav = new DataView(new ArrayBuffer(44 + size));
  const text = (at, letters) => [...letters].forEach((letter, k) => wav.setUint8(at + k, letter.charCodeAt(0)));
  text(0, "RIFF"); wav.setUint32(4, 36 + size, true); text(8, "WAVEfmt "); wav.setUint32(16, 16, true);
  wav.setUint16(20, 1, true); wav.setUint16(22, 1, true); wav.setUint32(24, RATE_HZ, true); wav.setUint32(28, 2 * RATE_HZ, true);
  wav.setUint16(32, 2, true); wav.setUint16(34, 16, true); text(36, "data"); wav.setUint32(40, size, true);
  samples.forEach((value, k) => wav.setInt16(44 + 2 * k, Math.round(32767 * Math.max(-1, Math.min(1, value))), true));
  return new Blob([wav]);
}

function base64(blob) {
  return new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => failed(reader.error);
    reader.readAsDataURL(blob);
  });
}

export function say(text) {
  if (!el("speak").checked) return;
  speechSynthesis.cancel();
  speechSynthesis.speak(Object.assign(new SpeechSynthesisUtterance(text), { lang: "en" }));
}

// A phone speaks later on only where a tap has let it speak once; a browser without voices is silent and does not say so.
async function tryVoice() {
  if (!el("speak").checked) { speechSynthesis.cancel(); note(""); return; }
  if (!speechSynthesis.getVoices().length) await new Promise(done => { speechSynthesis.onvoiceschanged = done; setTimeout(done, 1000); });
  if (!speechSynthesis.getVoices().length) note("This browser has no voice. On Linux, install speech-dispatcher and espeak-ng.");
  else say("Answers are read aloud.");
}
