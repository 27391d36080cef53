#include "watch/counting/answer.hpp"

#include "watch/counting/state.hpp"

#include <cerrno>
#include <csignal>
#include <unwind.h>

namespace haloscope::watch {

namespace {

_Unwind_Reason_Code add_frame(_Unwind_Context *context, void *to) noexcept {
  auto &answer = *static_cast<Answer *>(to);
  if (answer.frames == Answer::deepest) return _URC_END_OF_STACK;
  answer.addresses[answer.frames++] = _Unwind_GetIP(context);
  return _URC_NO_REASON;
}

void add_request(Answer &answer, const Request *request) noexcept {
  if (request == nullptr || request->kind == Pending::none) return;
  if (answer.requests < Answer::most)
    answer.waiting[answer.requests] = {static_cast<std::uint32_t>(request->kind), request->communicator,
                                       request->partner, request->tag};
  answer.requests++;
}

// Nothing here takes a lock or memory: the thread may be anywhere.
void answer_question(int /*signal*/, siginfo_t *question, void * /*context*/) noexcept {
  const int error = errno;
  ThreadState *state = this_thread();
  if (state != nullptr && question != nullptr && question->si_code == SI_QUEUE) {
    Answer &answer = state->record->answer;
    answer.frames = answer.requests = 0;
    _Unwind_Backtrace(add_frame, &answer);
    // Only MPI_Waitall has all its requests in one place.
    if (state->doing.call == static_cast<unsigned>(Function::Waitall) + 1)
      for (std::size_t i = 0; i < state->room && i < state->doing.count; i++)
        add_request(answer, state->known[i]);
    answer.number.store(static_cast<std::uint32_t>(question->si_value.sival_int), std::memory_order_release);
  }
  errno = error;
}

bool is_ours(int number) noexcept {
  struct sigaction action{};
  return sigaction(number, nullptr, &action) == 0 && (action.sa_flags & SA_SIGINFO) != 0 &&
         action.sa_sigaction == answer_question;
}

bool is_free(int number) noexcept {
  struct sigaction action{};
  return sigaction(number, nullptr, &action) == 0 && (action.sa_flags & SA_SIGINFO) == 0 &&
         action.sa_handler == SIG_DFL;
}

} // namespace

void start_answering(ProcessRecord &process) noexcept {
  Answer first{};
  _Unwind_Backtrace(add_frame, &first); // what it does once, it does not do in a signal handler
  // Programs that use such signals count from either end.
  for (int number = SIGRTMAX - 5; number > SIGRTMIN + 10; number--) {
    if (!is_free(number)) continue;
    struct sigaction action{};
    action.sa_sigaction = answer_question;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    sigfillset(&action.sa_mask);
    if (sigaction(number, &action, nullptr) == 0) process.answers.store(number);
    return;
  }
}

void check_answering(ProcessRecord &process) noexcept {
  const int number = process.answers.load(std::memory_order_relaxed);
  if (number != 0 && !is_ours(number)) process.answers.store(0);
}

} // namespace haloscope::watch
