"""What a library before an MPI does where a program waits or asks: the same in all of them."""

from families import Meaning

_MANY = "array_of_requests"
_SOME = f"incount, {_MANY}, outcount, array_of_indices, array_of_statuses"

COMPLETIONS = {
    "Request_get_status": Meaning("peek", "request, flag, status", True),
    "Request_get_status_all": Meaning("peek_all", f"count, {_MANY}, flag, array_of_statuses", True),
    "Request_get_status_any": Meaning("peek_any", f"count, {_MANY}, index, flag, status"),
    "Request_get_status_some": Meaning("peek_some", _SOME),
    "Wait": Meaning("wait", "request, status", True),
    "Test": Meaning("test", "request, flag, status", True),
    "Waitall": Meaning("wait_all", f"count, {_MANY}, array_of_statuses", True),
    "Testall": Meaning("test_all", f"count, {_MANY}, flag, array_of_statuses", True),
    "Waitany": Meaning("wait_any", f"count, {_MANY}, index, status"),
    "Testany": Meaning("test_any", f"count, {_MANY}, index, flag, status"),
    "Waitsome": Meaning("wait_some", _SOME),
    "Testsome": Meaning("test_some", _SOME),
}
