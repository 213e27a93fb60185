-- The undecided hunks of the agent's changes in the buffers: signs that follow the typing, the keys of such buffers, and where each hunk
-- stands now. What becomes of a hunk is decided elsewhere.

local config = require('copydesk.config')

local M = {}

---@class copydesk.Hunk `ChangeHunk` of the protocol.
---@field id integer
---@field turn string
---@field state 'undecided'|'accepted'|'rejected'|'outdated'
---@field range lsp.Range
---@field oldRange lsp.Range
---@field oldText string
---@field newText string

---@class copydesk.Placed
---@field session string
---@field hunk copydesk.Hunk
---@field kind 'add'|'change'|'delete'
---@field mark integer

---@class copydesk.Stand Where a hunk stands now.
---@field session string
---@field hunk copydesk.Hunk
---@field kind 'add'|'change'|'delete'
---@field first integer Row, from 0. Of a hunk that only removes, the row of its sign.
---@field last integer Included.

local namespace = vim.api.nvim_create_namespace('copydesk.hunks')

for group, link in pairs({ CopydeskAdded = 'Added', CopydeskChanged = 'Changed', CopydeskRemoved = 'Removed' }) do
  vim.api.nvim_set_hl(0, group, { link = link, default = true })
end

local highlights = { add = 'CopydeskAdded', change = 'CopydeskChanged', delete = 'CopydeskRemoved' }

---@type table<integer, copydesk.Placed[]> By buffer.
local placed = {}
---@type table<integer, true> Buffers whose keys were mapped.
local mapped = {}
--- What the descriptions of these keys begin with.
local DESCRIPTION = 'Copydesk: '

--- The rows of a hunk's range: the first, and the one behind the last. The range ends at the beginning of a line, or within the last.
---@param range lsp.Range
---@return integer first
---@return integer behind
function M.rows(range)
  local behind = range['end'].character > 0 and range['end'].line + 1 or range['end'].line
  return range.start.line, behind
end

---@param hunk copydesk.Hunk
---@return 'add'|'change'|'delete'
function M.kind(hunk)
  local first, behind = M.rows(hunk.range)
  if behind <= first and hunk.oldText ~= '' then
    return 'delete'
  end
  return hunk.oldText == '' and 'add' or 'change'
end

---@param buffer integer
---@param session string
---@param hunk copydesk.Hunk
---@return copydesk.Placed
local function put(buffer, session, hunk)
  local last_row = vim.api.nvim_buf_line_count(buffer) - 1
  local first, behind = M.rows(hunk.range)
  local kind = M.kind(hunk)
  local signs = config.get().changes.signs
  local options = { priority = math.floor(config.get().changes.priority) }
  local row = math.min(first, last_row)
  local name = kind
  if kind == 'delete' then
    -- The line above carries the sign, since there may be none below.
    row = math.min(math.max(first - 1, 0), last_row)
    name = first == 0 and 'top_delete' or 'delete'
  else
    options.end_row = math.max(row, math.min(behind - 1, last_row))
    options.end_col = 0
  end
  if signs and signs[name] then
    options.sign_text = signs[name]
    options.sign_hl_group = highlights[kind]
  end
  local mark = vim.api.nvim_buf_set_extmark(buffer, namespace, row, 0, options)
  return { session = session, hunk = hunk, kind = kind, mark = mark }
end

---@param buffer integer
---@param keep fun(entry: copydesk.Placed): boolean
local function sift(buffer, keep)
  local left = {}
  for _, entry in ipairs(placed[buffer] or {}) do
    if keep(entry) then
      left[#left + 1] = entry
    else
      pcall(vim.api.nvim_buf_del_extmark, buffer, namespace, entry.mark)
    end
  end
  placed[buffer] = #left > 0 and left or nil
end

--- The keys that are for buffers with hunks only, where the user has none there that begin alike.
---@param buffer integer
local function map_keys(buffer)
  local keymaps = config.get().keymaps
  local section = keymaps and keymaps.changes or {}
  if mapped[buffer] then
    return
  end
  mapped[buffer] = true
  vim.api.nvim_buf_call(buffer, function()
    for action, keys in pairs(section) do
      for _, lhs in ipairs(config.keys(keys)) do
        for _, mode in ipairs({ 'n', 'x' }) do
          if vim.fn.mapcheck(lhs, mode) == '' then
            local plug = ('<Plug>(copydesk-%s)'):format((action:gsub('_', '-')))
            vim.keymap.set(mode, lhs, plug, { buffer = buffer, remap = true, desc = DESCRIPTION .. action })
          end
        end
      end
    end
  end)
end

---@param buffer integer
local function unmap_keys(buffer)
  if not mapped[buffer] then
    return
  end
  mapped[buffer] = nil
  if not vim.api.nvim_buf_is_valid(buffer) then
    return
  end
  for _, mode in ipairs({ 'n', 'x' }) do
    for _, map in ipairs(vim.api.nvim_buf_get_keymap(buffer, mode)) do
      -- The user may have mapped the key since.
      if vim.startswith(map.desc or '', DESCRIPTION) and vim.startswith(map.rhs or '', '<Plug>(copydesk-') then
        pcall(vim.keymap.del, mode, map.lhs, { buffer = buffer })
      end
    end
  end
end

---@param buffer integer
local function dress(buffer)
  if placed[buffer] then
    map_keys(buffer)
  else
    unmap_keys(buffer)
  end
end

--- Shows the hunks of a session in a buffer, as of its present text, in place of those that were shown.
---@param buffer integer
---@param session string
---@param hunks copydesk.Hunk[]
function M.place(buffer, session, hunks)
  sift(buffer, function(entry)
    return entry.session ~= session
  end)
  local entries = placed[buffer] or {}
  for _, hunk in ipairs(hunks) do
    entries[#entries + 1] = put(buffer, session, hunk)
  end
  placed[buffer] = #entries > 0 and entries or nil
  dress(buffer)
end

--- Takes away those that are not among these any more; the others stay where they are.
---@param buffer integer
---@param session string
---@param hunks copydesk.Hunk[]
function M.retain(buffer, session, hunks)
  local ids = {}
  for _, hunk in ipairs(hunks) do
    ids[hunk.id] = true
  end
  sift(buffer, function(entry)
    return entry.session ~= session or ids[entry.hunk.id] == true
  end)
  dress(buffer)
end

--- Takes away what a session shows in all other buffers.
---@param session string
---@param shown table<integer, true> The buffers that it has hunks in.
function M.retain_buffers(session, shown)
  for _, buffer in ipairs(vim.tbl_keys(placed)) do
    if not shown[buffer] then
      M.retain(buffer, session, {})
    end
  end
end

--- The buffer has another text, or none: nothing is shown in it until it is placed anew.
---@param buffer integer
function M.forget(buffer)
  sift(buffer, function()
    return false
  end)
  dress(buffer)
end

function M.forget_all()
  for _, buffer in ipairs(vim.tbl_keys(placed)) do
    M.forget(buffer)
  end
end

---@param buffer integer
---@param entry copydesk.Placed
---@return copydesk.Stand?
local function stand(buffer, entry)
  local found = vim.api.nvim_buf_get_extmark_by_id(buffer, namespace, entry.mark, { details = true })
  if not found[1] then
    return nil
  end
  local last_row = vim.api.nvim_buf_line_count(buffer) - 1
  local first = math.min(found[1], last_row)
  return {
    session = entry.session,
    hunk = entry.hunk,
    kind = entry.kind,
    first = first,
    -- A mark whose lines were deleted ends before it begins.
    last = math.min(math.max(found[3].end_row or first, first), last_row),
  }
end

--- The hunks of a buffer from the top down.
---@param buffer integer 0: the current one.
---@return copydesk.Stand[]
function M.all(buffer)
  if buffer == 0 then
    buffer = vim.api.nvim_get_current_buf()
  end
  local stands = {}
  for _, entry in ipairs(placed[buffer] or {}) do
    stands[#stands + 1] = stand(buffer, entry)
  end
  table.sort(stands, function(a, b)
    if a.first ~= b.first then
      return a.first < b.first
    end
    return a.hunk.id < b.hunk.id
  end)
  return stands
end

--- The hunks that touch these rows.
---@param buffer integer
---@param first integer
---@param last integer
---@return copydesk.Stand[]
function M.within(buffer, first, last)
  return vim.tbl_filter(function(at)
    return at.first <= last and at.last >= first
  end, M.all(buffer))
end

--- The hunk at a row. Where lines were removed right below one that was changed, it is the changed one.
---@param buffer integer
---@param row integer
---@return copydesk.Stand?
function M.at(buffer, row)
  local found
  for _, at in ipairs(M.within(buffer, row, row)) do
    if not found or found.kind == 'delete' or at.kind ~= 'delete' then
      found = at
    end
  end
  return found
end

return M
