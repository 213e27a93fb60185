-- The wait before the model is asked again: ticks down below the conversation, and for status lines. Waits for nothing itself; the daemon
-- does, for as long.

local M = {}

---@class copydesk.Retry Of `_meta.copydesk.retry`.
---@field attempt integer Which further try this is, from one.
---@field of integer
---@field waitMillis integer From now on.
---@field reason string

local namespace = vim.api.nvim_create_namespace('copydesk.countdown')

local state = {
  ---@type copydesk.Retry?
  retry = nil,
  --- Milliseconds of `vim.uv.now`.
  ends = 0,
  ---@type uv.uv_timer_t?
  timer = nil,
  --- Which wait it is: what an earlier one has planned does nothing.
  number = 0,
  ---@type integer?
  buffer = nil,
  ---@type fun()
  changed = function() end,
}

---@return integer seconds The last of them begun.
local function left()
  vim.uv.update_time()
  return math.ceil((state.ends - vim.uv.now()) / 1000)
end

--- What is waited for; nil where nothing is.
---@return string?
function M.text()
  local retry = state.retry
  return retry and ('trying again in %d s (%d of %d)'):format(math.max(left(), 1), retry.attempt, retry.of)
end

--- Below the last line of the conversation, which has changed or ticked.
function M.draw()
  local buf = state.buffer
  if not (buf and vim.api.nvim_buf_is_valid(buf)) then
    return
  end
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  local text = M.text()
  if text then
    local last = vim.api.nvim_buf_line_count(buf) - 1
    vim.api.nvim_buf_set_extmark(buf, namespace, last, 0, { virt_lines = { { { text, 'WarningMsg' } } } })
  end
end

local function close_timer()
  if state.timer and not state.timer:is_closing() then
    state.timer:close()
  end
  state.timer = nil
end

local function show()
  M.draw()
  state.changed()
end

--- The wait is over, or nobody waits any more.
function M.stop()
  if not state.retry then
    return
  end
  close_timer()
  state.retry = nil
  show()
end

local function tick()
  local number = state.number
  local seconds = left()
  if seconds <= 0 then
    M.stop()
    return
  end
  show()
  -- Until a whole second less is left.
  local wait = math.max(state.ends - vim.uv.now() - (seconds - 1) * 1000, 1)
  close_timer()
  state.timer = vim.defer_fn(function()
    if state.number == number and state.retry then
      tick()
    end
  end, wait)
end

---@param retry copydesk.Retry
---@param buf integer The conversation's.
---@param changed fun() Called with each tick, and at the end.
function M.start(retry, buf, changed)
  vim.uv.update_time()
  state.retry, state.buffer, state.changed = retry, buf, changed
  state.ends = vim.uv.now() + retry.waitMillis
  state.number = state.number + 1
  tick()
end

return M
