// Ctrl-C: the first one asks what runs to end in good order, the second one ends the process.

#pragma once

namespace haricot::tool {

// From now on SIGINT and SIGTERM only set a flag, once each. System calls that wait return EINTR.
void catch_interrupts();

bool is_interrupted();

}  // namespace haricot::tool
