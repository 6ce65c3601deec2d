// The memory of haricotd. Linked into the daemon only: the tool and the tests use their library's
// operator new.

#pragma once

namespace haricot::os {

// Counts the memory of this thread from now on (haricot/base/memory.hpp). Called first in main().
void count_memory();

}  // namespace haricot::os
