// Requests to the program, and its stream of events.

const kStreamIsSilentAfter = 5000;  // Milliseconds.

export class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;  // HTTP status; 0 if there was no answer.
  }
}

// ask('tubes', {server, from: 0}) returns the answer as an object. Throws a Refusal or an
// AbortError.
export async function ask(what, parameters = {}, signal = undefined) {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined);
  const query = new URLSearchParams(given).toString();
  return answerOf(() => fetch(`api/${what}${query ? `?${query}` : ''}`, {signal, cache: 'no-store'}));
}

// Changes a server: act({action: 'kick', server, tube, count}).
export async function act(order, signal = undefined) {
  const headers = {'Content-Type': 'application/json'};
  return answerOf(() => fetch('api/actions', {method: 'POST', headers, body: JSON.stringify(order), signal}));
}

async function answerOf(send) {
  let response;
  try {
    response = await send();
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Refusal(0, 'haricot web does not answer');
  }
  if (response.status === 401) location.assign('login' + location.hash);
  const answer = await response.json().catch((error) => {
    if (error.name === 'AbortError') throw error;
    return null;
  });
  if (!response.ok) throw new Refusal(response.status, answer?.error ?? `HTTP status ${response.status}`);
  if (answer === null) throw new Refusal(response.status, 'the answer is not JSON');
  return answer;
}

// The state of all servers, from events, or by polling if a proxy holds events back. A hidden page
// asks for nothing and frees its connection, because a browser opens at most six to a host.
export class Live {
  constructor(onServers, onState) {
    this.onServers = onServers;
    this.onState = onState;  // ('live' | 'polling' | 'lost', since), where `since` is the Date of
                             // the last answer.
    this.lastEvent = 0;
    this.lastAnswer = new Date();
    document.addEventListener('visibilitychange', () => (document.hidden ? this.stop() : this.start()));
    this.start();
  }

  start() {
    if (this.source) return;
    this.source = new EventSource('api/events');
    this.source.addEventListener('servers', (event) => {
      this.lastEvent = performance.now();
      this.take(JSON.parse(event.data), 'live');
    });
    this.timer = setInterval(() => this.checkStream(), 2000);
    this.poll();
  }

  stop() {
    this.source?.close();
    this.source = null;
    clearInterval(this.timer);
  }

  take(servers, state) {
    this.lastAnswer = new Date();
    this.onState(state, this.lastAnswer);
    this.onServers(servers);
  }

  // Polls if the stream is silent.
  checkStream() {
    if (performance.now() - this.lastEvent < kStreamIsSilentAfter) return;
    // The browser does not reopen a stream that was refused.
    if (this.source.readyState === EventSource.CLOSED) {
      this.stop();
      this.start();
    } else {
      this.poll();
    }
  }

  async poll() {
    try {
      this.take(await ask('servers'), performance.now() - this.lastEvent < kStreamIsSilentAfter ? 'live' : 'polling');
    } catch (error) {
      if (error instanceof Refusal) this.onState('lost', this.lastAnswer);
      else throw error;
    }
  }
}
