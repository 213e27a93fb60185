-- The `:Copydesk…` commands. Nothing of the plugin is loaded, and no process started, before the first of them is used.

if vim.g.loaded_copydesk then
  return
end
vim.g.loaded_copydesk = true

if vim.fn.has('nvim-0.11') == 0 then
  vim.api.nvim_create_user_command('Copydesk', function()
    vim.notify('Copydesk needs Neovim 0.11 or newer.', vim.log.levels.ERROR)
  end, { nargs = '*', range = true })
  return
end

---@param name string
---@param run fun(args: table)
---@param opts? vim.api.keyset.user_command
local function command(name, run, opts)
  vim.api.nvim_create_user_command(name, run, opts or {})
end

---@param kind copydesk.Kind
local function completion(kind)
  return function(lead)
    return require('copydesk.session').complete(kind, lead)
  end
end

command('Copydesk', function(args)
  local range = args.range > 0 and { args.line1, args.line2 } or nil
  require('copydesk').prompt(args.args, range)
end, { nargs = '*', range = true, desc = 'Prompt Copydesk; with a range, about these lines' })

command('CopydeskChat', function()
  require('copydesk').toggle()
end, { desc = 'Show or hide the conversation' })

command('CopydeskNew', function()
  require('copydesk').new()
end, { desc = 'Begin a new conversation' })

command('CopydeskCancel', function()
  require('copydesk').cancel()
end, { desc = 'Stop the turn that runs' })

command('CopydeskAnswer', function()
  require('copydesk').answer()
end, { desc = 'Answer what Copydesk asks' })

command('CopydeskMode', function(args)
  require('copydesk').choose('mode', args.args)
end, { nargs = '?', complete = completion('mode'), desc = 'Choose the agent' })

command('CopydeskModel', function(args)
  require('copydesk').choose('model', args.args)
end, { nargs = '?', complete = completion('model'), desc = 'Choose the model' })

command('CopydeskPermissionMode', function(args)
  require('copydesk').choose('permission', args.args)
end, { nargs = '?', complete = completion('permission'), desc = 'Choose how much runs without a question' })

command('CopydeskPermissions', function()
  require('copydesk').permissions()
end, { desc = 'List what was allowed, and take it back' })

command('CopydeskRestart', function()
  require('copydesk').restart()
end, { desc = 'End the daemon and start it again' })

command('CopydeskLog', function()
  require('copydesk.log').open()
end, { desc = 'Show the log of the plugin and the daemon' })
