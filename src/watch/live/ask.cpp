#include "watch/live/ask.hpp"

#include "watch/live/live.hpp"
#include "watch/live/live_json.hpp"

#include <csignal>
#include <fstream>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>

namespace haloscope::watch {

namespace {

constexpr std::uint64_t patience = 400'000'000; // nanoseconds for all answers together

// A field of /proc/PID/task/TID/status.
std::string field(const ProcessRecord &process, std::int32_t tid, const std::string &name) {
  std::ifstream status{"/proc/" + std::to_string(process.pid) + "/task/" + std::to_string(tid) + "/status"};
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name + ":")) {
      const auto first = line.find_first_not_of(" \t", name.size() + 1);
      return first == std::string::npos ? "" : line.substr(first);
    }
  return "";
}

bool has_signal(const std::string &mask, int number) {
  return mask.empty() ||
         (std::strtoull(mask.c_str(), nullptr, 16) >> static_cast<unsigned>(number - 1) & 1U) != 0;
}

class Asking : LiveJson {
public:
  Asking(const Arena &arena, const ProcessRecord &process, std::string path)
      : LiveJson(arena), process_(process), path_(std::move(path)) {}

  template <class Visit> void each_thread(Visit &&visit) {
    for (const ThreadRecord *thread = valid(process_.threads.load()); thread != nullptr;
         thread = valid(thread->next))
      visit(*thread);
  }

  // Why a thread must not be asked; nullptr if it may be. A signal ends sleep() and its like early: only a
  // thread that is in MPI, whose library goes on waiting, or that computes, is asked.
  const char *obstacle(const ThreadRecord &thread) {
    const int number = process_.answers.load();
    const Recorder *recorder = valid(thread.recorder);
    if (!alive_) return "its process is gone";
    if (number == 0 || number < SIGRTMIN || number > SIGRTMAX || recorder == nullptr)
      return "it has no signal to be asked by";
    const std::string state = field(process_, thread.tid, "State");
    if (state.empty()) return "its thread is gone";
    if (!has_signal(field(process_, thread.tid, "SigCgt"), number) ||
        has_signal(field(process_, thread.tid, "SigBlk"), number))
      return "the program has its signal";
    if (recorder->doing.call == 0 && state[0] != 'R')
      return "it sleeps outside MPI, where a signal would wake it";
    return nullptr;
  }

  void ask(std::uint32_t question) {
    alive_ = is_running(process_, path_);
    each_thread([&](const ThreadRecord &thread) {
      if (obstacle(thread) != nullptr) return;
      siginfo_t info{};
      info.si_code = SI_QUEUE;
      info.si_pid = getpid();
      info.si_uid = getuid();
      info.si_value.sival_int = static_cast<int>(question);
      syscall(SYS_rt_tgsigqueueinfo, process_.pid, thread.tid, process_.answers.load(), &info);
    });
  }

  void tell(std::uint32_t question, std::uint64_t until) {
    alive_ = is_running(process_, path_);
    each_thread([&](const ThreadRecord &thread) {
      const std::atomic<std::uint64_t> &number = thread.answer.number;
      while (number.load(std::memory_order_acquire) != question && nanoseconds() < until) {
        const timespec pause{0, 1'000'000};
        nanosleep(&pause, nullptr);
      }
      Json json;
      json.open('{').key("path").string(path_).key("tid").number(std::int64_t{thread.tid});
      if (number.load(std::memory_order_acquire) == question) {
        put(json, thread.answer);
      } else {
        const char *why = obstacle(thread);
        json.key("silent").string(why == nullptr ? "it does not answer" : why);
      }
      const std::string line = json.close('}').take();
      std::fwrite(line.data(), 1, line.size(), stdout);
    });
  }

private:
  void put(Json &json, const Answer &answer) const {
    json.key("frames").open('[');
    for (std::uint32_t i = 0; i < std::min<std::uint32_t>(answer.frames, Answer::deepest); i++)
      json.number(answer.addresses[i]);
    json.close(']').key("requests").number(std::uint64_t{answer.requests}).key("waiting").open('[');
    for (std::uint32_t i = 0; i < std::min<std::uint32_t>(answer.requests, Answer::most); i++) {
      const AnsweredRequest &request = answer.waiting[i];
      json.open('[').number(std::uint64_t{request.kind});
      put_rank(json, request.partner, communicator(request.communicator));
      put_tag(json, request.tag);
      json.close(']');
    }
    json.close(']');
  }

  const ProcessRecord &process_;
  std::string path_;
  bool alive_ = false;
};

} // namespace

int ask(std::span<char *const> files) {
  const auto question = static_cast<std::uint32_t>(nanoseconds() >> 10U) | 1U;
  const std::uint64_t until = nanoseconds() + patience;
  // All are asked before the first is listened to.
  for (const char *file : files)
    with_records(file, [&](const Arena &arena, const ProcessRecord &process) {
      Asking{arena, process, file}.ask(question);
    });
  for (const char *file : files)
    with_records(file, [&](const Arena &arena, const ProcessRecord &process) {
      Asking{arena, process, file}.tell(question, until);
    });
  return 0;
}

} // namespace haloscope::watch
