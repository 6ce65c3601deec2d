// Real servers and the real program on local ports, and clients that load them.
import {spawn} from 'node:child_process';
import {readFileSync} from 'node:fs';
import net from 'node:net';

const kLowest = 10000;
const kAttempts = 10;

// Returns a random port below the kernel's range for connections.
function someBelow() {
  const low = Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s+/)[0]);
  return kLowest + Math.floor(Math.random() * Math.max(1000, low - kLowest));
}

function isOpen(port) {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1', () => resolve(socket.destroy() && true)).on('error', () => resolve(false));
  });
}

const kRunning = new Set();
process.on('exit', () => kRunning.forEach((child) => child.kill('SIGKILL')));

// A process that listens on a port. `words(port)` returns its arguments.
export class Program {
  constructor(path, words) {
    Object.assign(this, {path, words, log: ''});
  }

  // Starts the process, on its previous port if it had one.
  async start() {
    for (let attempt = 0; attempt < kAttempts; attempt += 1) {
      const port = this.port ?? someBelow();
      if (await isOpen(port)) continue;
      this.child = spawn(this.path, this.words(port), {stdio: ['ignore', 'pipe', 'pipe']});
      kRunning.add(this.child);
      for (const stream of [this.child.stdout, this.child.stderr]) stream.on('data', (text) => (this.log += text));
      this.ended = new Promise((resolve) => this.child.on('exit', resolve));
      while (this.child.exitCode === null && this.child.signalCode === null) {
        if (await isOpen(port)) {
          this.port = port;
          return this;
        }
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
    throw new Error(`${this.path} does not start: ${this.log}`);
  }

  async stop() {
    this.child.kill('SIGTERM');
    await this.ended;
    kRunning.delete(this.child);
  }
}

// A connection that sends commands and returns their answers: the first line, and the body, if any.
export class Client {
  constructor(port) {
    this.waiting = [];
    this.bytes = Buffer.alloc(0);
    this.isOver = false;
    this.socket = net.connect(port, '127.0.0.1');
    this.socket.on('data', (data) => this.take(data));
    this.socket.on('error', () => {});
    this.socket.on('close', () => {
      this.isOver = true;
      this.waiting.splice(0).forEach((answer) => answer(''));
    });
  }

  take(data) {
    this.bytes = Buffer.concat([this.bytes, data]);
    for (;;) {
      const end = this.bytes.indexOf('\r\n');
      if (end < 0) return;
      const line = this.bytes.subarray(0, end).toString();
      const size = /^(?:RESERVED \d+|FOUND \d+|OK) (\d+)$/.exec(line);
      const whole = end + 2 + (size ? Number(size[1]) + 2 : 0);
      if (this.bytes.length < whole) return;
      this.bytes = this.bytes.subarray(whole);
      this.waiting.shift()?.(line);
    }
  }

  // Returns '' if the server has ended.
  ask(command, body = null) {
    if (this.isOver) return Promise.resolve('');
    return new Promise((resolve) => {
      this.waiting.push(resolve);
      this.socket.write(body === null ? `${command}\r\n` : Buffer.concat([Buffer.from(`${command} ${body.length}\r\n`), Buffer.from(body), Buffer.from('\r\n')]));
    });
  }

  end() {
    this.socket.destroy();
  }
}

// Runs producers and workers until stop(). Each handles a job and pauses.
export function load(port, tube) {
  let isOn = true;
  const rest = () => new Promise((resolve) => setTimeout(resolve, 20));
  const produce = async () => {
    const client = new Client(port);
    await client.ask(`use ${tube}`);
    for (let i = 0; isOn && !client.isOver; i += 1) {
      await client.ask('put 100 0 60', Buffer.from(`{"displayName": "App\\\\Jobs\\\\Send", "number": ${i}}`));
      await rest();
    }
    client.end();
  };
  const work = async () => {
    const client = new Client(port);
    await client.ask(`watch ${tube}`);
    while (isOn && !client.isOver) {
      const found = /^RESERVED (\d+)/.exec(await client.ask('reserve-with-timeout 1'));
      if (found) await client.ask(`delete ${found[1]}`);
    }
    client.end();
  };
  const all = Promise.all([produce(), produce(), work(), work()]);
  return {stop: () => {
    isOn = false;
    return all;
  }};
}
