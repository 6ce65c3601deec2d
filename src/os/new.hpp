// Where haricotd gets its memory. Linked into the daemon alone: the tool and the tests have the
// operator new of their library.

#pragma once

namespace haricot::os {

// From now on the memory of this thread is counted (haricot/base/memory.hpp). To be called first in
// main().
void count_memory();

}  // namespace haricot::os
