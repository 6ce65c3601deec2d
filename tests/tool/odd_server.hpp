// A minimal server for loads, whose answer to one command is set by the test: for answers that a
// real server never sends.

#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <thread>

namespace haricot::test {

class OddServer final {
 public:
  // Sets the answer to this command with any arguments. "CLOSE" closes the connection instead.
  OddServer(std::string command, std::string answer);
  OddServer(const OddServer&) = delete;
  OddServer& operator=(const OddServer&) = delete;
  ~OddServer();

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  struct Client {
    std::string input;
    std::string last_body;
  };

  void serve();
  // Returns false if the connection has to be closed.
  bool serve_client(int descriptor, Client& client);
  std::string answer_to(std::string_view line, Client& client);

  std::string command_;
  std::string answer_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> is_over_ = false;
  std::map<int, Client> clients_;
  std::thread thread_;
};

}  // namespace haricot::test
